"""Statistics, health, readiness, and what becomes of failures."""

import itertools
import json

import pytest
from aws_lambda_powertools import Logger

from s3_agent_memory import bootstrap, errors
from s3_agent_memory.edge.http.api import HttpApi
from tests.functions import deployment
from tests.functions.deployment import Client, make_client

SECRET = "MARKER-TEXT of a memory"
_names = itertools.count(1)


class FailingStore(bootstrap.MemoryStore):
    """A store whose every method raises the same error."""

    def __init__(self, error):
        self._error = error

    def __getattribute__(self, name):
        if name.startswith("_"):
            return super().__getattribute__(name)

        def fail(*args, **kwargs):
            raise self._error

        return fail


def answer_of_failure(error, method="GET", target="/v1/memories", body=None, *, log=None):
    client = make_client()
    logger = Logger(service=f"failing-{next(_names)}", stream=log)
    event = deployment.make_event(method, target, body, {"authorization": f"Bearer {client.token}"})
    result = HttpApi(FailingStore(error), logger=logger).handle(deployment.authorized(event), deployment.Context())
    answer = deployment.answer_of(result)
    deployment.check_contract(method, target, answer)
    return answer


def test_stats_answers_figures(client):
    client.remember(kind="episodic")
    stats = client.send("GET", "/v1/stats").json
    assert (stats["namespace"], stats["memories"], stats["by_kind"]["episodic"]) == (client.namespace, 1, 1)


def test_stats_of_an_empty_namespace_are_zero(client):
    assert client.send("GET", "/v1/stats").json["memories"] == 0


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_and_readiness_need_no_token(path):
    answer = Client(None, "").send("GET", path)
    assert (answer.status, answer.json["status"]) == (200, "ok")


def test_readiness_has_a_result_for_each_store():
    answer = Client(None, "").send("GET", "/readyz")
    assert answer.json["stores"] == {"long_term": "ok", "sessions": "ok"}


def test_the_root_says_what_this_is_without_a_token():
    answer = Client(None, "").send("GET", "/")
    assert (answer.status, answer.json["name"]) == (200, "s3-agent-memory")
    assert [Client(None, "").send("GET", path).status for path in answer.json["links"].values()] == [200, 200]


@pytest.mark.parametrize("target", ["/", "/healthz", "/openapi.json", "/v1/stats", "/v1/memories/unknown", "/nowhere"])
def test_a_json_answer_ends_its_line(client, target):
    body = client.send("GET", target).body
    assert (body.count(b"\n"), body[-1:]) == (1, b"\n")


def test_readiness_fails_with_the_storage_and_health_does_not():
    error = errors.BackendError("no answer")
    statuses = [answer_of_failure(error, target=path).status for path in ("/readyz", "/healthz")]
    assert statuses == [503, 200]


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.ThrottledError("slow down"), 429, "throttled"),
        (errors.BackendError("down"), 503, "backend"),
        (errors.AccessDeniedError("no"), 403, "forbidden"),
        (errors.CorruptError("broken", key="memory/x"), 500, "corrupt"),
    ],
)
def test_an_error_of_the_library_is_a_problem_with_its_code(error, status, code):
    answer = answer_of_failure(error)
    assert (answer.status, answer.code) == (status, code)


def test_an_unknown_outcome_is_504():
    answer = answer_of_failure(errors.UnknownOutcomeError("perhaps"), "POST", "/v1/memories", {"content": "x"})
    assert (answer.status, answer.code) == (504, "unknown_outcome")


@pytest.mark.parametrize("error", [errors.ThrottledError("slow down"), errors.BackendError("down")])
def test_what_may_be_tried_again_says_when(error):
    assert answer_of_failure(error).headers["retry-after"] == "1"


def test_an_unknown_failure_is_500_without_details(tmp_path):
    answer = answer_of_failure(RuntimeError(SECRET))
    assert (answer.status, answer.code) == (500, "internal")
    assert SECRET.encode() not in answer.body


def test_an_unknown_failure_is_logged_with_its_place_and_without_its_text(tmp_path):
    with (tmp_path / "log").open("w+") as log:
        answer_of_failure(RuntimeError(SECRET), "POST", "/v1/memories", {"content": SECRET}, log=log)
        log.seek(0)
        text = log.read()
    failed = next(json.loads(line) for line in text.splitlines() if "request failed" in line)
    assert (failed["error_type"], SECRET in text, "MARKER" in text) == ("RuntimeError", False, False)
    assert any("operations.py" in frame for frame in failed["frames"])


def test_a_failure_inside_a_batch_keeps_the_results_of_the_others():
    operations = [{"op": "get", "id": "a"}, {"op": "nonsense"}]
    answer = answer_of_failure(RuntimeError(SECRET), "POST", "/v1/memories/batch", {"operations": operations})
    assert [result["status"] for result in answer.json["results"]] == [500, 422]
    assert SECRET.encode() not in answer.body


def test_a_failure_leaves_nothing_behind_for_the_next_request(client):
    answer_of_failure(RuntimeError("x"))
    assert client.remember("fine")["version"] == 1


def test_neither_texts_nor_tokens_nor_ids_are_logged(tmp_path):
    client = make_client()
    with (tmp_path / "log").open("w+") as log:
        logger = Logger(service=f"quiet-{next(_names)}", stream=log, level="DEBUG")
        api = HttpApi(bootstrap.build_api_store(deployment.SETTINGS), logger=logger)
        for method, target, body in (
            ("POST", "/v1/memories", {"content": SECRET, "id": "MARKER-ID", "tags": ["MARKER-TAG"]}),
            ("GET", "/v1/memories/MARKER-ID", None),
            ("POST", "/v1/memories/search", {"query": SECRET, "filter": {"MARKER": 1}}),
            ("GET", "/v1/memories?tag=MARKER-TAG&limit=x", None),
            ("DELETE", "/v1/memories/MARKER-ID?reason=MARKER", None),
        ):
            event = deployment.make_event(method, target, body, {"authorization": f"Bearer {client.token}"})
            api.handle(deployment.authorized(event), deployment.Context())
        log.seek(0)
        text = log.read()
    assert text.count("request answered") == 5
    assert ("MARKER" in text, client.token in text) == (False, False)
