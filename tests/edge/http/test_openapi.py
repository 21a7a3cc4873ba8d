"""The OpenAPI document: complete, consistent, and true."""

import tomllib
from importlib import metadata
from pathlib import Path
from typing import get_args

import pytest

from s3_agent_memory.edge.http import openapi as http_openapi
from s3_agent_memory.edge.http.routes import ROUTES
from s3_agent_memory.wire.problems import STATUS_OF_CODE
from s3_agent_memory.wire.requests import Operation, RememberRequest, SearchRequest, UpdateRequest
from tests.functions.deployment import Client

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def document():
    answer = Client(None, "").send("GET", "/openapi.json")
    assert answer.status == 200
    return answer.json


def references(node):
    if isinstance(node, dict):
        found = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return found + [ref for value in node.values() for ref in references(value)]
    if isinstance(node, list):
        return [ref for value in node for ref in references(value)]
    return []


def operations(document):
    return {
        (method.upper(), path): item for path, methods in document["paths"].items() for method, item in methods.items()
    }


def test_the_document_is_openapi_3_1_with_the_required_parts(document):
    assert document["openapi"].startswith("3.1.")
    assert {"title", "version"} <= set(document["info"])
    assert {"paths", "components", "servers"} <= set(document)


def test_every_route_is_described_and_nothing_else(document):
    routes = {(route.method, route.rule.replace("<", "{").replace(">", "}")) for route in ROUTES}
    assert set(operations(document)) == routes


def test_every_reference_resolves(document):
    schemas = document["components"]["schemas"]
    broken = {ref for ref in references(document) if ref.removeprefix("#/components/schemas/") not in schemas}
    assert broken == set()


def test_every_schema_is_used(document):
    used = {ref.removeprefix("#/components/schemas/") for ref in references(document)}
    assert set(document["components"]["schemas"]) - used == set()


def test_operation_ids_are_unique(document):
    ids = [operation["operationId"] for operation in operations(document).values()]
    assert len(set(ids)) == len(ids)


def test_every_operation_has_a_summary_and_a_description(document):
    bare = [key for key, item in operations(document).items() if not (item.get("summary") and item.get("description"))]
    assert bare == []


def test_every_response_has_a_description_and_every_failure_is_problem_json(document):
    for key, operation in operations(document).items():
        for status, response in operation["responses"].items():
            assert response["description"], (key, status)
            if int(status) >= 400:
                assert set(response["content"]) == {"application/problem+json"}, (key, status)


def test_every_path_parameter_is_described_and_required(document):
    for (_, path), operation in operations(document).items():
        named = {item["name"] for item in operation.get("parameters", []) if item["in"] == "path" and item["required"]}
        assert named == {part.strip("{}") for part in path.split("/") if part.startswith("{")}


def test_every_route_but_the_public_ones_needs_a_bearer_token(document):
    scheme = document["components"]["securitySchemes"]["bearer"]
    open_paths = {path for (_, path), operation in operations(document).items() if not operation.get("security")}
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    assert open_paths == {"/", "/healthz", "/readyz", "/openapi.json"}


def test_every_route_with_a_body_describes_it(document):
    described = {key for key, operation in operations(document).items() if "requestBody" in operation}
    without = {("POST", "/v1/consolidations/{run_id}/undo")}
    assert described == {key for key in operations(document) if key[0] in ("POST", "PATCH")} - without


def test_the_version_is_that_of_the_package(document):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert document["info"]["version"] == project["version"] == metadata.version("s3-agent-memory")


def test_a_package_without_metadata_knows_its_version_all_the_same(monkeypatch):
    expected = http_openapi.package_version()
    monkeypatch.setattr(http_openapi, "NAME", "no-such-package")
    assert http_openapi.package_version() == expected


@pytest.mark.parametrize("model", [*get_args(get_args(Operation)[0]), RememberRequest, UpdateRequest, SearchRequest])
def test_an_example_is_what_its_model_allows(document, model):
    examples = document["components"]["schemas"][model.__name__].get("examples", [])
    for example in examples:
        model.model_validate(example)
    is_expected = model.__name__.startswith(("Remember", "Update", "Search"))
    assert len(examples) == int(is_expected)


def test_the_import_tells_how_to_go_on(document):
    operation = operations(document)["POST", "/v1/import"]
    assert "last `unread_lines` lines" in " ".join(operation["description"].split())


def test_every_code_has_a_status_of_failure():
    assert {status for status in STATUS_OF_CODE.values() if status < 400} == set()
