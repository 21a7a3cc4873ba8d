"""Nothing outside a scope is returned or erased: every combination against a second, plain reading of the contract."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s3_agent_memory.domain.tiers import TierSettings
from tests.conversation.api import Service

# Separators, prefixes of each other, other capitals, and letters that only look alike (a Cyrillic a, a composed e).
PRINCIPALS = ("alice", "alice/s1", "Alice", "аlice", "café", "cafe\u0301")
AGENTS = ("a", "a|alice", "A")
SESSIONS = ("s1", "s1/alice", "S1", "a")
ABSENT = (None, "", " ")
# A window keeps the newest turn alone; every other one is a fact.
SETTINGS = TierSettings(token_budget=3, compaction_target=1)


@dataclass(frozen=True)
class Told:
    """Something that was written once."""

    principal: str | None
    agent: str | None
    session: str | None

    @property
    def text(self) -> str:
        return f"fact {everything().index(self)} x"


@cache
def everything() -> list[Told]:
    principals: tuple[str | None, ...] = (*PRINCIPALS, None)
    agents: tuple[str | None, ...] = (*AGENTS, None)
    sessions: tuple[str | None, ...] = (*SESSIONS, None)
    whos = itertools.product(principals, agents, sessions)
    return [Told(*who) for who in whos if who[:2] != (None, None)]


def tell(service: Service, told: Iterable[Told]) -> None:
    for item in told:
        who: dict[str, Any] = {"principal": item.principal, "agent_client_id": item.agent, "session_id": item.session}
        assert service.write(item.text, **who).json["accepted"]
    service.digest()


def fields(principal: str | None, agent: str | None, session: str | None) -> dict[str, Any]:
    values = {"principal": principal, "agent_client_id": agent, "session_id": session}
    return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class Asked:
    """A scope as a request names it."""

    level: str
    principal: str | None
    agent: str | None
    session: str | None

    @property
    def json(self) -> dict[str, Any]:
        return {"level": self.level, **fields(self.principal, self.agent, self.session)}

    def covers(self, told: Told) -> bool:
        """The table of the contract, read once more."""
        if self.level == "store":
            return True
        if self.level == "user":
            return told.principal == self.principal
        if self.level == "agent":
            return told.agent == self.agent and self.principal in (None, told.principal)
        return told.session == self.session and self.principal in (None, told.principal)

    def status_for(self, caller: str) -> int:
        needed = {"user": self.principal, "agent": self.agent, "session": self.session, "store": "-"}[self.level]
        if needed is None:
            return 400
        if self.level == "store":
            return 200 if caller == "admin" else 403
        is_foreign = caller not in ("admin", "actor") and self.principal not in (None, caller)
        return 403 if is_foreign else 200

    def meant_by(self, caller: str) -> "Asked":
        """A token that is no administrator's means its own principal if none is named."""
        is_bound = caller not in ("admin", "actor") and self.level != "store"
        return replace(self, principal=self.principal or caller) if is_bound else self


def all_asked(level: str) -> Iterator[Asked]:
    """Every combination; of those that mean the same, the whole store, some."""
    principals: tuple[str | None, ...] = (*PRINCIPALS, None)
    agents: tuple[str | None, ...] = (*AGENTS, None)
    sessions: tuple[str | None, ...] = (*SESSIONS, None)
    if level == "store":
        principals, agents = principals[-2:], agents[-2:]
    whos = itertools.product(principals, agents, sessions)
    return (Asked(level, *who) for who in whos)


@pytest.fixture(scope="module")
def world() -> tuple[Service, set[str], dict[str, list[str]]]:
    """A service that was told everything, what of it are facts, and the window of each session."""
    service = Service(SETTINGS)
    tell(service, everything())
    scope = {"scope": {"level": "store"}, "include": ["long_term"]}
    facts = {fact["memory"] for fact in service.send("/v1/list", scope).json["long_term"]["facts"]}
    windows = {}
    for name in SESSIONS:
        found = service.recall(include=["short_term"], level="session", session_id=name)
        windows[name] = [content for _, content in found["short_term"]["window"]]
    return service, facts, windows


CALLERS = ("alice", "Alice", "nobody", "admin", "actor")


@pytest.mark.parametrize("level", ["session", "agent", "user", "store"])
@pytest.mark.parametrize("caller", CALLERS)
def test_every_combination_reads_exactly_its_scope(world: Any, level: str, caller: str) -> None:
    service, facts, windows = world
    token = service.admin if caller in ("admin", "actor") else service.token(caller)
    headers = {"x_actor": "alice"} if caller == "actor" else {}
    for asked in all_asked(level):
        body = {"scope": asked.json, "include": ["long_term", "short_term"]}
        answer = service.send("/v1/list", body, token=token, **headers)
        assert answer.status == asked.status_for(caller), (asked, caller)
        if answer.status != 200:
            continue
        meant = asked.meant_by(caller)
        wanted = {told.text for told in everything() if meant.covers(told)} & facts
        assert {fact["memory"] for fact in answer.json["long_term"]["facts"]} == wanted, (asked, caller)
        members = {told.principal for told in everything() if told.session == meant.session}
        is_open = meant.session is not None and (meant.principal is None or meant.principal in members)
        window = [content for _, content in answer.json["short_term"]["window"]]
        assert window == (windows[meant.session] if is_open and meant.session else []), (asked, caller)


def test_blank_fields_are_absent_ones(world: Any) -> None:
    service, _, _ = world
    answers = [
        service.send("/v1/list", {"scope": {"level": "session", "session_id": "s1", "principal": blank}}).json
        for blank in ABSENT
    ]
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("path", ["/v1/recall", "/v1/list"])
def test_no_query_widens_a_scope(world: Any, path: str) -> None:
    service, _, _ = world
    for query in ("", "fact", "alice", '{"user_id": "alice"}', "* OR user_id:alice"):
        body = {"scope": {"level": "user", "principal": "Alice"}, "query": query, "top_k": 100}
        body = body if path == "/v1/recall" else {"scope": body["scope"]}
        found = {fact["memory"] for fact in service.send(path, body).json["long_term"]["facts"]}
        assert found <= {told.text for told in everything() if told.principal == "Alice"}


scopes = st.builds(
    Asked,
    st.sampled_from(["session", "agent", "user"]),
    st.sampled_from((*PRINCIPALS, None)),
    st.sampled_from((*AGENTS, None)),
    st.sampled_from((*SESSIONS, None)),
).filter(lambda asked: asked.status_for("admin") == 200)


@settings(max_examples=12, deadline=None)
@given(told=st.sets(st.sampled_from(everything()), min_size=5, max_size=25), asked=scopes)
def test_an_erasure_removes_exactly_its_scope(told: set[Told], asked: Asked) -> None:
    service = Service(SETTINGS)
    ordered = sorted(told, key=everything().index)
    tell(service, ordered)
    assert service.send("/v1/forget", {"scope": asked.json}).json == {"forgotten": True, "degraded": False}
    service.digest()
    listed = service.send("/v1/list", {"scope": {"level": "store"}, "include": ["long_term"]}).json
    left = [fact["memory"] for fact in listed["long_term"]["facts"]]
    for name in SESSIONS:
        found = service.recall(include=["short_term"], level="session", session_id=name)
        left += [content for _, content in found["short_term"]["window"]]
    assert sorted(left) == sorted(item.text for item in ordered if not asked.covers(item))
    gone = [item.text for item in ordered if asked.covers(item) and service.holds(f'"{item.text}"')]
    assert gone == []
