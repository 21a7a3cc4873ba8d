"""A grant covers its namespace segment by segment, and nothing beside it."""

from typing import Any

import pytest

from s3_agent_memory.domain.clock import to_us
from s3_agent_memory.domain.grants import Grant, Permission, new_token, parse_permissions, token_id_of
from s3_agent_memory.domain.keys import format_namespace, parse_namespace
from s3_agent_memory.errors import AccessDeniedError, ValidationError
from tests.fakes.entropy import SeededEntropy
from tests.unit.domain.memories import MOMENT


def make_grant(namespace: str = "users/alice", *, covers_children: bool = False, **values: Any) -> Grant:
    return Grant(
        token_id="0" * 64,
        principal="alice",
        namespace=parse_namespace(namespace),
        covers_children=covers_children,
        permissions=values.pop("permissions", frozenset({Permission.READ})),
        created_at=MOMENT,
        **values,
    )


# --- namespaces -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("requested", [None, "users/alice"])
def test_a_grant_covers_its_own_namespace(requested: str | None) -> None:
    assert format_namespace(make_grant().resolve_namespace(requested)) == "users/alice"


@pytest.mark.parametrize(
    "requested", ["users", "users/bob", "users/alice/notes", "users/alice2", "users/al", "users/Alice", "users/alice-"]
)
def test_a_grant_of_one_namespace_covers_no_other(requested: str) -> None:
    with pytest.raises(AccessDeniedError, match=f"does not cover the namespace {requested}"):
        make_grant().resolve_namespace(requested)


@pytest.mark.parametrize("requested", ["users/al", "users/al/notes", "users/al/notes/2026"])
def test_a_grant_of_a_root_covers_what_lies_below_it(requested: str) -> None:
    grant = make_grant("users/al", covers_children=True)
    assert format_namespace(grant.resolve_namespace(requested)) == requested


@pytest.mark.parametrize("requested", ["users", "users/alice", "users/alice/al", "al", "users2/al", "users/a"])
def test_a_root_is_whole_segments(requested: str) -> None:
    with pytest.raises(AccessDeniedError):
        make_grant("users/al", covers_children=True).resolve_namespace(requested)


@pytest.mark.parametrize("requested", ["", "users/alice/..", "users/alice/", "users//alice", "users/alice%2F..", "*"])
def test_what_is_no_namespace_is_refused(requested: str) -> None:
    with pytest.raises(ValidationError):
        make_grant(covers_children=True).resolve_namespace(requested)


# --- permissions and expiry -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("permission", Permission)
def test_admin_includes_every_permission(permission: Permission) -> None:
    make_grant(permissions=frozenset({Permission.ADMIN})).require(permission)


@pytest.mark.parametrize("permission", [Permission.WRITE, Permission.ERASE, Permission.ADMIN])
def test_what_is_not_granted_is_denied_by_name(permission: Permission) -> None:
    with pytest.raises(AccessDeniedError, match=f"the permission '{permission}'"):
        make_grant().require(permission)


@pytest.mark.parametrize("values", [[], ["root"], ["read", "root"], [""], [None]])
def test_permissions_are_one_or_more_known_ones(values: list[object]) -> None:
    with pytest.raises(ValidationError, match="read, write, erase, admin"):
        parse_permissions(values)


def test_permissions_may_repeat() -> None:
    assert parse_permissions(["read", "read", Permission.WRITE]) == {Permission.READ, Permission.WRITE}


def test_a_grant_ends_at_its_very_moment() -> None:
    grant = make_grant(expires_at=MOMENT)
    assert [grant.is_expired(to_us(MOMENT) + shift) for shift in (-1, 0)] == [False, True]


# --- tokens -----------------------------------------------------------------------------------------------------------


def test_a_token_is_256_random_bits() -> None:
    assert len(bytes.fromhex(new_token(SeededEntropy()).removeprefix("sam_"))) == 32


def test_the_id_of_a_token_does_not_hold_the_token() -> None:
    token = new_token(SeededEntropy())
    assert token.removeprefix("sam_") not in token_id_of(token)


@pytest.mark.parametrize("token", ["", "sam_", "\ud800", "sam_ü"])
def test_any_text_has_a_token_id(token: str) -> None:
    assert len(token_id_of(token)) == 64
