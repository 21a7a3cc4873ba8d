"""What a token makes of a scope, and scopes themselves."""

import pytest

from s3_agent_memory.domain.entitlement import Caller, entitled_contributor, entitled_scope
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.scopes import Contributor, Level, Scope, make_scope
from s3_agent_memory.domain.tiers import TierSettings
from s3_agent_memory.errors import AccessDeniedError, ValidationError

USER = Caller(principal="alice", is_admin=False)
ADMIN = Caller(principal="root", is_admin=True)
OPEN = TierSettings()
STORE = Scope(level=Level.STORE)


@pytest.mark.parametrize(
    ("level", "needed"), [("session", "session_id"), ("agent", "agent_client_id"), ("user", "principal")]
)
@pytest.mark.parametrize("blank", [None, "", "  \t"])
def test_a_scope_needs_the_field_of_its_level(level: str, needed: str, blank: str | None) -> None:
    fields = {"principal": "p", "agent_client_id": "a", "session_id": "s"} | {needed: blank}
    with pytest.raises(ValidationError, match=needed):
        make_scope(level, **fields, limits=Limits())


def test_the_store_scope_needs_nothing_and_filters_nothing() -> None:
    assert make_scope("store", principal="p", limits=Limits()).conditions() == {}


@pytest.mark.parametrize(
    ("scope", "conditions"),
    [
        (Scope(level=Level.USER, principal="p", agent_client_id="a", session_id="s"), {"user_id": "p"}),
        (Scope(level=Level.AGENT, agent_client_id="a"), {"agent_id": "a"}),
        (Scope(level=Level.AGENT, agent_client_id="a", principal="p"), {"agent_id": "a", "user_id": "p"}),
        (Scope(level=Level.SESSION, session_id="s", agent_client_id="a"), {"session_id": "s"}),
        (Scope(level=Level.SESSION, session_id="s", principal="p"), {"session_id": "s", "user_id": "p"}),
    ],
)
def test_a_level_reads_the_memories_it_names(scope: Scope, conditions: dict[str, str]) -> None:
    assert scope.conditions() == conditions


def test_a_token_is_about_its_own_principal_even_if_none_is_named() -> None:
    assert entitled_scope(Scope(level=Level.AGENT, agent_client_id="a"), USER, OPEN).principal == "alice"
    assert entitled_contributor(Contributor(agent_client_id="a"), USER, OPEN).principal == "alice"


def test_only_an_administrator_names_others_or_nobody() -> None:
    theirs = Scope(level=Level.USER, principal="bob")
    with pytest.raises(AccessDeniedError):
        entitled_scope(theirs, USER, OPEN)
    with pytest.raises(AccessDeniedError):
        entitled_contributor(Contributor(principal="bob"), USER, OPEN)
    assert entitled_scope(theirs, ADMIN, OPEN) == theirs
    assert entitled_contributor(Contributor(agent_client_id="a"), ADMIN, OPEN).principal is None


def test_the_store_is_for_administrators_who_act_for_themselves() -> None:
    assert entitled_scope(STORE, ADMIN, OPEN) == STORE
    for caller in (USER, Caller(principal="root", is_admin=True, has_actor=True)):
        with pytest.raises(AccessDeniedError, match="administrators"):
            entitled_scope(STORE, caller, OPEN)


@pytest.mark.parametrize("caller", [USER, ADMIN])
def test_a_required_identity_must_be_named(caller: Caller) -> None:
    with pytest.raises(AccessDeniedError, match="principal"):
        entitled_scope(Scope(level=Level.SESSION, session_id="s"), caller, TierSettings(require_principal=True))
    with pytest.raises(AccessDeniedError, match="agent_client_id"):
        entitled_contributor(Contributor(principal="alice"), caller, TierSettings(require_agent_identity=True))


def test_an_attribution_names_a_user_or_an_agent() -> None:
    with pytest.raises(ValidationError, match="attribution"):
        entitled_contributor(Contributor(), USER, OPEN)
