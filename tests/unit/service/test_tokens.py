"""Tokens: shown once, stored as a hash, gone when revoked or expired."""

import pytest

from s3_agent_memory.domain.keys import format_namespace
from s3_agent_memory.errors import (
    AgentMemoryError,
    AuthenticationError,
    ConflictError,
    CorruptError,
    NotFoundError,
    ValidationError,
)
from s3_agent_memory.service.tokens import TokenService
from tests.fakes.clock import MINUTE
from tests.fakes.faulty_store import Fault
from tests.unit.service.worlds import World


@pytest.fixture
def tokens(world: World) -> TokenService:
    return world.parts.tokens


def test_a_token_grants_what_it_was_created_for(tokens: TokenService) -> None:
    token, grant = tokens.create(principal="alice", namespace="users/alice", permissions=("read",))
    assert tokens.verify(token) == grant
    assert (grant.principal, format_namespace(grant.namespace)) == ("alice", "users/alice")


def test_another_process_knows_the_token(world: World, tokens: TokenService) -> None:
    token, grant = tokens.create(principal="alice", namespace="users/alice")
    assert world.another_process().tokens.verify(token) == grant


def test_no_stored_byte_reveals_the_token(world: World, tokens: TokenService) -> None:
    token, _ = tokens.create(principal="alice", namespace="users/alice")
    (key,) = world.store.keys_below("auth/")
    found = world.store.inner.get(key, size_max=2**20)
    assert found is not None
    secret = token.removeprefix("sam_")
    assert secret not in key + found.body.decode()


@pytest.mark.parametrize("token", ["", "sam_", "sam_" + "0" * 64, "Bearer x", "sam_" + "x" * 600, "sam_../../x", "ü"])
def test_a_token_of_nobody_is_refused(tokens: TokenService, token: str) -> None:
    with pytest.raises(AuthenticationError):
        tokens.verify(token)


def test_a_token_ends_with_its_time_to_live(world: World, tokens: TokenService) -> None:
    token, _ = tokens.create(principal="alice", namespace="users/alice", ttl=MINUTE)
    world.clock.advance(MINUTE)
    with pytest.raises(AuthenticationError, match="expired"):
        tokens.verify(token)


def test_a_revoked_token_is_refused_at_once(world: World, tokens: TokenService) -> None:
    token, grant = tokens.create(principal="alice", namespace="users/alice")
    assert world.another_process().tokens.revoke(grant.token_id[:8]) == grant.token_id
    with pytest.raises(AuthenticationError):
        tokens.verify(token)


def test_grants_are_listed_oldest_first(world: World, tokens: TokenService) -> None:
    principals = ["carol", "alice", "bob"]
    for principal in principals:
        tokens.create(principal=principal, namespace=f"users/{principal}")
        world.clock.advance(1)
    assert [grant.principal for grant in tokens.list()] == principals


@pytest.mark.parametrize("prefix", ["", "0123456", "0123456g", "0123456G", "../../..", "*" * 8, "A" * 8])
def test_a_prefix_that_is_too_short_or_foreign_is_refused(tokens: TokenService, prefix: str) -> None:
    with pytest.raises(ValidationError, match="at least 8 hexadecimal digits"):
        tokens.revoke(prefix)


def test_a_prefix_of_no_token_is_not_found(tokens: TokenService) -> None:
    with pytest.raises(NotFoundError):
        tokens.revoke("0" * 8)


def test_a_prefix_of_two_tokens_revokes_none(world: World, tokens: TokenService) -> None:
    _, grant = tokens.create(principal="alice", namespace="users/alice")
    found = world.store.inner.get(f"auth/tokens/{grant.token_id}.json", size_max=2**20)
    assert found is not None
    twin_id = grant.token_id[:-1] + ("0" if grant.token_id[-1] != "0" else "1")
    world.store.inner.put(f"auth/tokens/{twin_id}.json", found.body)
    with pytest.raises(ConflictError, match="2 tokens begin with"):
        tokens.revoke(grant.token_id[:12])
    assert len(tokens.list()) == 2


@pytest.mark.parametrize(
    "values",
    [
        *[{"principal": ""}, {"principal": None}, {"namespace": "users/.."}, {"namespace": ""}, {"permissions": ()}],
        *[{"permissions": ("root",)}, {"ttl": 0}, {"ttl": -1}, {"ttl": float("nan")}],
    ],
)
def test_a_grant_that_makes_no_sense_is_not_stored(world: World, tokens: TokenService, values: dict) -> None:
    with pytest.raises(ValidationError):
        tokens.create(**{"principal": "alice", "namespace": "users/alice", **values})
    assert world.store.keys_below() == []


@pytest.mark.parametrize(
    "body", [b"", b"{}", b'{"schema":1,"principal":"a","namespace":"users/..","permissions":["read"]}']
)
def test_a_broken_grant_grants_nothing(world: World, tokens: TokenService, body: bytes) -> None:
    token, grant = tokens.create(principal="alice", namespace="users/alice")
    world.store.inner.put(f"auth/tokens/{grant.token_id}.json", body)
    with pytest.raises(CorruptError):
        tokens.verify(token)


@pytest.mark.parametrize("fault", Fault)
def test_a_token_whose_write_met_one_fault_works(fault: Fault) -> None:
    for place in range(4):
        world = World()
        world.store.fail(fault, at=place)
        try:
            token, grant = world.parts.tokens.create(principal="alice", namespace="users/alice")
        except AgentMemoryError:
            assert not world.store.requests[place].is_write, f"{fault} at request {place}"
            continue
        assert world.another_process().tokens.verify(token) == grant, f"{fault} at request {place}"
