"""Whole conversations, turn by turn: the window keeps its budget, batches fold in order, and no turn is lost."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from s3_agent_memory.domain.keys import parse_namespace
from s3_agent_memory.domain.session_keys import session_of
from s3_agent_memory.domain.tiers import TierSettings
from s3_agent_memory.domain.token_count import estimate_tokens
from tests.conversation.api import NAMESPACE, Service

BUDGET = 600
SETTINGS = TierSettings(token_budget=BUDGET)
WHO = {"principal": "ann", "agent_client_id": "companion", "session_id": "long"}
# Conversations of LoCoMo in a directory beside the project, or where LOCOMO_PATH says; they are never copied.
ROOT = Path(__file__).parents[2]
LOCOMO = os.environ.get("LOCOMO_PATH") or next(iter(sorted(ROOT.parent.glob("*/data/locomo*.json"))), None)
_PLACES = ("Lisbon", "Oslo", "Kyoto", "Quito", "Cairo", "Perth", "Riga", "Lima", "Turin", "Accra")
_THINGS = ("a violin", "an old map", "a red kite", "two books", "a stone", "some tea", "a lamp", "a coat", "a bell")


def made_up() -> list[tuple[str, str]]:
    """Return a conversation of 400 turns in which no two are alike."""
    turns = []
    for day in range(200):
        place, thing = _PLACES[day % len(_PLACES)], _THINGS[day % len(_THINGS)]
        turns.append(("user", f"On day {day} we were in {place} and I bought {thing} for number {day * 7}."))
        turns.append(("assistant", f"Noted: {thing} from {place}, entry {day}."))
    return turns


def locomo() -> list[tuple[str, str]]:
    conversation = json.loads(Path(LOCOMO or "").read_text("utf-8"))[0]["conversation"]
    names = sorted((key for key in conversation if isinstance(conversation[key], list)), key=lambda key: int(key[8:]))
    return [(turn["speaker"], turn["text"]) for name in names for turn in conversation[name]]


def converse(service: Service, turns: list[tuple[str, str]]) -> None:
    """Write turn by turn, and let the digester come by now and then, at the latest when 20 batches wait."""
    session = session_of(parse_namespace(NAMESPACE), WHO["session_id"])
    waiting = 0
    for number, (role, content) in enumerate(turns):
        waiting += service.write(content, role=role, **WHO).status == 202
        if number % 50 == 49 or waiting == 20:
            waiting = 0
            service.parts.worker.run([session, session], lambda: 10**9)
        if number % 20 == 19:
            check_window(service)
    service.digest()


def check_window(service: Service) -> None:
    window = service.recall(include=["short_term"], level="session", session_id="long")["short_term"]["window"]
    assert sum(estimate_tokens(content) for _, content in window) <= BUDGET


def kept(service: Service) -> Counter[str]:
    """Return every turn of the window and of long-term memory."""
    body = {"scope": {"level": "session", "session_id": "long"}, "include": ["long_term", "short_term"]}
    answer = service.send("/v1/list", body).json
    window = [content for _, content in answer["short_term"]["window"]]
    return Counter(map(words, [*(fact["memory"] for fact in answer["long_term"]["facts"]), *window]))


def words(text: str) -> str:
    """A memory has no white space at its ends."""
    return " ".join(text.split())


def recalled(service: Service, query: str, **scope: str) -> list[str]:
    found = service.recall(query, include=["long_term"], **scope)
    return [fact["memory"] for fact in found["long_term"]["facts"]]


@pytest.fixture(scope="module")
def service() -> Service:
    made = Service(SETTINGS)
    converse(made, made_up())
    return made


def test_every_turn_is_kept_exactly_once(service: Service) -> None:
    assert kept(service) == Counter(words(content) for _, content in made_up())


def test_the_order_of_the_conversation_is_that_of_the_memories(service: Service) -> None:
    facts = service.send("/v1/list", {"scope": {"level": "user", "principal": "ann"}}).json["long_term"]["facts"]
    places = sorted((fact["metadata"]["batch"], int(fact["id"].rpartition("-")[2]), fact["memory"]) for fact in facts)
    told = [content for _, content in made_up()]
    assert [memory for _, _, memory in places] == told[: len(places)]


@pytest.mark.parametrize(
    "scope",
    [
        {"level": "user", "principal": "ann"},
        {"level": "agent", "agent_client_id": "companion"},
        {"level": "session", "session_id": "long"},
    ],
)
def test_a_question_at_the_end_recalls_the_fact_by_every_scope(service: Service, scope: dict[str, str]) -> None:
    found = recalled(service, "what was bought in Kyoto for number 84?", **scope)
    assert "On day 12 we were in Kyoto and I bought two books for number 84." in found[:3]
    assert recalled(service, "Kyoto", level="user", principal="somebody else") == []


def test_the_digest_stays_small_and_the_latest_versions_alone_are_kept(service: Service) -> None:
    summary = service.recall(level="session", session_id="long")["medium_term"]["summary"]
    keys = [item.key for item in service.store.inner.list_page("sessions/").objects]
    assert 0 < estimate_tokens(summary) <= 520
    assert sum(key.endswith(".digest.json") for key in keys) <= SETTINGS.digest_retention
    assert [key for key in keys if key.endswith((".turns.json", ".facts.json"))] == []


@pytest.mark.skipif(LOCOMO is None, reason="LoCoMo is not beside the project; set LOCOMO_PATH to its file")
def test_a_conversation_of_months_keeps_every_turn_and_recalls_what_was_said() -> None:
    service = Service(SETTINGS)
    turns = locomo()
    converse(service, turns)
    assert kept(service) == Counter(words(content) for _, content in turns)
    for scope in ({"level": "user", "principal": "ann"}, {"level": "session", "session_id": "long"}):
        hits = recalled(service, "When did Caroline go to the LGBTQ support group?", **scope)
        assert any("LGBTQ support group" in hit for hit in hits[:5])
