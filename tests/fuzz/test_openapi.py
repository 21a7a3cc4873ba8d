"""The API keeps its own OpenAPI document: requests made from it are answered as it says, with a token and without."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, checks
from schemathesis.core.result import Ok

from tests.functions.deployment import make_client
from tests.fuzz.wsgi import application

schemathesis.serializer.alias("application/x-ndjson", "text/plain")
SCHEMA = schemathesis.openapi.from_wsgi("/openapi.json", application)
OPERATIONS = {found.ok().label: found.ok() for found in SCHEMA.get_all_operations() if isinstance(found, Ok)}
PUBLIC = {label for label, operation in OPERATIONS.items() if not operation.definition.raw.get("security")}
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
BUDGET = settings(
    max_examples=settings().max_examples // 2,
    # How long a document's own examples take to be found is not the API's doing.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
CLIENT = make_client(permissions=("admin",))
MEMORY_ID = "units"


def requests(label: str) -> st.SearchStrategy[Any]:
    """Draw requests that the document allows, and others that it does not."""
    operation = OPERATIONS[label]
    allowed = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    return st.one_of(allowed, operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))


def sensible(case: Any) -> Any:
    """Return a request for a memory that is there, in a namespace that the token covers."""
    case.query.pop("namespace", None)
    if "memory_id" in case.path_parameters:
        CLIENT.send("POST", "/v1/memories", {"content": "metric units", "id": MEMORY_ID, "resurrect": True})
        case.path_parameters["memory_id"] = MEMORY_ID
    return case


def test_the_document_describes_operations() -> None:
    assert len(OPERATIONS) == len(list(SCHEMA.get_all_operations())) > 10


@pytest.mark.parametrize("label", OPERATIONS)
@BUDGET
@given(data=st.data())
def test_a_request_with_a_token_is_answered_as_described(label: str, data: st.DataObject) -> None:
    case = data.draw(requests(label))
    case = sensible(case) if data.draw(st.booleans()) else case
    response = case.call(headers={"authorization": f"Bearer {CLIENT.token}"})
    case.validate_response(response, checks=CHECKS)
    assert response.status_code != 401


@pytest.mark.parametrize("label", OPERATIONS)
@BUDGET
@given(data=st.data(), token=st.sampled_from([None, "", "Bearer ", "Bearer sam_0", "Basic YTpi"]))
def test_a_request_without_a_valid_token_is_answered_as_described(
    label: str, data: st.DataObject, token: str | None
) -> None:
    case = data.draw(requests(label))
    case.headers.pop("Authorization", None)
    response = case.call(headers={} if token is None else {"authorization": token})
    case.validate_response(response, checks=CHECKS)
    assert (response.status_code == 401) == (label not in PUBLIC)
