"""The client speaks the contract, tries again where that is right, and never keeps an agent from going on."""

import asyncio
import json
import logging

import pytest

from s3_agent_memory.client import memory_service
from s3_agent_memory.client.retries import Retries
from s3_agent_memory.errors import (
    AccessDeniedError,
    AuthenticationError,
    BackendError,
    ThrottledError,
    UnknownOutcomeError,
    ValidationError,
)
from s3_agent_memory.wire.conversation import Attribution, LongTerm, MediumTerm, RecallAnswer, Scope, ShortTerm, Turn
from tests.fakes.model_servers import Reply

SCOPE = Scope(level="user", principal="alice", session_id="s1")
WRITER = Attribution(principal="alice", agent_client_id="cook", session_id="s1")
TURNS = [Turn(role="user", content="I live in Rome")]
FACT = {"id": "f1", "memory": "Alice lives in Rome", "score": 0.9, "metadata": {}, "user_id": "alice"}
RECALLED = {
    "long_term": {"facts": [FACT], "block": "## Relevant memory\n- Alice lives in Rome"},
    "medium_term": {"summary": "Alice asked for soup."},
    "short_term": {"window": [["user", "Hi"], ["assistant", "Hello"]]},
    "degraded": False,
}
WRITTEN = {"accepted": True, "scheduled": False, "degraded": False}
FORGOTTEN = {"forgotten": True, "degraded": False}


def reply(document, status=200, **headers):
    return Reply(status=status, body=json.dumps(document).encode(), headers=headers)


def calling(client, call):
    """Return what a call of the client returns; the client is closed."""

    async def run():
        async with client:
            return await call(client)

    return asyncio.run(run())


def recall(client, **options):
    return calling(client, lambda memory: memory.recall(SCOPE, "where?", **options))


def write(client, **options):
    return calling(client, lambda memory: memory.write(WRITER, TURNS, **options))


def forget(client, **options):
    return calling(client, lambda memory: memory.forget(SCOPE, **options))


# --- the contract ---


def test_recall_returns_the_tiers(server, make_client):
    server.will(reply(RECALLED))
    answer = recall(make_client())
    assert answer.long_term.facts[0].memory == "Alice lives in Rome"
    assert answer.long_term.block.startswith("## Relevant memory")
    assert answer.medium_term.summary == "Alice asked for soup."
    assert answer.short_term.window == (("user", "Hi"), ("assistant", "Hello"))
    assert not answer.degraded


def test_recall_sends_what_the_contract_says(server, make_client):
    server.will(reply(RECALLED))
    recall(make_client(), top_k=3, include=["long_term"], short_term_token_budget=100)
    (sent,) = server.sent
    assert sent.path == "/v1/recall"
    assert sent.document == {
        "scope": {"level": "user", "principal": "alice", "session_id": "s1"},
        "query": "where?",
        "top_k": 3,
        "include": ["long_term"],
        "short_term_token_budget": 100,
    }


def test_list_sends_what_the_contract_says(server, make_client):
    server.will(reply({"short_term": {"window": []}, "degraded": False}))
    answer = calling(make_client(), lambda memory: memory.list(SCOPE, include=["short_term"]))
    assert (server.sent[0].path, server.sent[0].document["include"]) == ("/v1/list", ["short_term"])
    assert answer == RecallAnswer(short_term=ShortTerm())


def test_write_sends_what_the_contract_says(server, make_client):
    server.will(reply(WRITTEN, 202))
    assert write(make_client(), infer=False) is True
    document = dict(server.sent[0].document)
    assert document.pop("write_id")
    assert document == {
        "attribution": {"principal": "alice", "agent_client_id": "cook", "session_id": "s1"},
        "turns": [{"role": "user", "content": "I live in Rome"}],
        "infer": False,
    }


def test_forget_sends_what_the_contract_says(server, make_client):
    server.will(reply(FORGOTTEN))
    assert forget(make_client()) is True
    assert server.sent[0].path == "/v1/forget"
    assert server.sent[0].document == {"scope": {"level": "user", "principal": "alice", "session_id": "s1"}}


def test_the_token_is_sent_as_a_bearer(server, make_client):
    server.will(reply(FORGOTTEN))
    forget(make_client())
    assert server.sent[0].headers["authorization"] == "Bearer am_secret"


def test_a_base_url_may_have_a_path(server, make_client):
    server.will(reply(FORGOTTEN))
    forget(make_client(server.url + "/memory/"))
    assert server.sent[0].path == "/memory/v1/forget"


# --- attempts ---


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
@pytest.mark.parametrize(("call", "good"), [(recall, RECALLED), (write, WRITTEN), (forget, FORGOTTEN)])
def test_a_passing_failure_is_tried_again(server, make_client, slept, *, call, good, status):
    server.will(reply({}, status), reply(good))
    answer = call(make_client())
    assert answer is True or answer.degraded is False
    assert len(slept) == 1


def test_a_cut_answer_is_tried_again(server, make_client):
    server.will(Reply(body=b'{"accepted"', cut_bytes=20), reply(WRITTEN))
    assert write(make_client()) is True


def test_a_write_that_is_sent_again_has_the_same_id(server, make_client):
    server.will(reply({}, 503), reply(WRITTEN))
    write(make_client())
    assert len({sent.document["write_id"] for sent in server.sent}) == 1


def test_two_writes_have_two_ids(server, make_client):
    server.will(reply(WRITTEN))

    async def twice(memory):
        return [await memory.write(WRITER, TURNS), await memory.write(WRITER, TURNS)]

    calling(make_client(), twice)
    assert len({sent.document["write_id"] for sent in server.sent}) == 2


def test_attempts_are_bounded(server, make_client, slept):
    server.will(reply({}, 503))
    assert write(make_client(retries=Retries(attempt_count_max=4))) is False
    assert len(server.sent) == 4
    assert all(seconds <= Retries().cap_seconds for seconds in slept)


def test_one_attempt_may_be_enough(server, make_client):
    server.will(reply({}, 503))
    write(make_client(retries=Retries(attempt_count_max=1)))
    assert len(server.sent) == 1


@pytest.mark.parametrize(("asked", "least", "most"), [("3", 3, 6), ("99999", 0, 12), ("soon", 0, 2)])
def test_the_wait_that_a_service_asks_for_is_kept_within_reason(server, make_client, slept, *, asked, least, most):
    server.will(reply({}, 429, **{"Retry-After": asked}), reply(FORGOTTEN))
    forget(make_client())
    assert least <= slept[0] <= most


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refusal_is_not_tried_again(server, make_client, status):
    server.will(reply({"error": "no"}, status))
    write(make_client())
    assert len(server.sent) == 1


# --- failures ---


@pytest.mark.parametrize(
    "bad",
    [
        reply({"error": "incomplete"}, 400),
        reply({}, 403),
        reply({}, 503),
        Reply(body=b"<html>"),
        reply([]),
        reply({"long_term": {"facts": "none"}}),
        reply({}, 307, Location="http://127.0.0.1:1/"),
    ],
)
def test_a_recall_that_fails_is_empty_and_says_so(server, make_client, bad):
    server.will(bad)
    expected = RecallAnswer(long_term=LongTerm(), medium_term=MediumTerm(), degraded=True)
    assert recall(make_client(), include=["long_term", "medium_term"]) == expected


@pytest.mark.parametrize("options", [{"top_k": 0}, {"include": ["forever"]}, {"short_term_token_budget": -1}])
def test_a_recall_with_a_wrong_argument_is_empty_and_says_so(make_client, options):
    assert recall(make_client(), **options).degraded


def test_a_service_that_is_not_there_is_an_empty_recall(make_client):
    assert recall(make_client("http://127.0.0.1:1")).degraded


def test_what_is_no_url_is_an_empty_recall(make_client):
    assert recall(make_client("nonsense://")).degraded


def test_a_silent_service_is_an_empty_recall(server, make_client):
    server.will(Reply(stalls=True))
    assert recall(make_client(timeout_seconds=0.1, retries=Retries(attempt_count_max=1))).degraded


@pytest.mark.parametrize("call", [write, forget])
@pytest.mark.parametrize("mode", [None, "soft"])
def test_a_write_or_forget_that_fails_is_false(server, make_client, call, mode):
    server.will(reply({}, 500))
    assert call(make_client(), failure_mode=mode) is False


def test_a_write_that_was_not_accepted_is_false(server, make_client):
    server.will(reply({"accepted": False, "scheduled": False, "degraded": True}))
    assert write(make_client()) is False


@pytest.mark.parametrize("call", [write, forget])
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ValidationError),
        (401, AuthenticationError),
        (403, AccessDeniedError),
        (422, ValidationError),
        (429, ThrottledError),
        (500, BackendError),
        (504, UnknownOutcomeError),
    ],
)
def test_strict_raises_what_the_caller_may_do(server, make_client, call, *, status, kind):
    server.will(reply({"error": "the reason"}, status))
    with pytest.raises(kind, match="the reason"):
        call(make_client(), failure_mode="strict")


def test_strict_is_told_to_the_service(server, make_client):
    server.will(reply(WRITTEN))
    write(make_client(), failure_mode="strict")
    assert server.sent[0].document["failure_mode"] == "strict"


def test_strict_tells_unreachable_from_unanswered(server, make_client):
    with pytest.raises(BackendError) as unreachable:
        write(make_client("http://127.0.0.1:1"), failure_mode="strict")
    server.will(Reply(stalls=True))
    with pytest.raises(UnknownOutcomeError):
        write(make_client(timeout_seconds=0.1), failure_mode="strict")
    assert not isinstance(unreachable.value, UnknownOutcomeError)


def test_no_turns_are_refused_before_anything_is_sent(server, make_client):
    with pytest.raises(ValidationError):
        calling(make_client(), lambda memory: memory.write(WRITER, [], failure_mode="strict"))
    assert server.sent == []


def test_an_endless_answer_is_not_read(server, make_client, monkeypatch):
    monkeypatch.setattr(memory_service, "ANSWER_BYTES_MAX", 100)
    server.will(reply(RECALLED | {"padding": "x" * 1_000}))
    assert recall(make_client()).degraded


def test_logs_hold_neither_token_nor_text(server, make_client, caplog):
    server.will(reply({"detail": "am_secret may not say: I live in Rome"}, 400))
    with caplog.at_level(logging.DEBUG):
        write(make_client())
        recall(make_client())
    assert "am_secret" not in caplog.text
    assert "Rome" not in caplog.text
