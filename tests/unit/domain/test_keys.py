"""Where things lie: namespaces out of an allow-list, and keys that say what they hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3_agent_memory.domain import keys
from s3_agent_memory.domain.keys import Namespace, TruthKey, format_namespace, parse_namespace, parse_truth_key
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.errors import ValidationError

SEGMENTS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,20}", fullmatch=True).filter(
    lambda text: not text.endswith(".") and text not in set(Kind)
)
NAMESPACES = st.lists(SEGMENTS, min_size=1, max_size=8).map(lambda parts: Namespace(tuple(parts)))
IDS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,60}", fullmatch=True)


# --- namespaces -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "default",
        f"{'a' * 120}/{'b' * 119}",
        "users/alice",
        "a/b/c/d/e/f/g/h",
        "users/a.b+tag@x.co",
        "x" * 128,
        "users/Semantic",
        "a/b..c",
    ],
)
def test_a_safe_namespace_is_allowed(text: str) -> None:
    assert format_namespace(parse_namespace(text)) == text


@pytest.mark.parametrize(
    "value",
    [
        *["", "/", "users/", "/alice", "users//alice", ".", "..", "users/..", "users/../bob", "users/a.", "a" * 129],
        *["a/b/c/d/e/f/g/h/i", "/".join(["x" * 80] * 3), "users/semantic", "episodic", "users/_index", "_tombstones"],
        *["users/al ice", "users/alice ", " users", "users/auth0|123", "users/a\\b", "users/a%2Fb", "users/a\0"],
        *[
            "users/ü",
            "users/用户",
            "users/🙂",
            "users/\ud800",
            "users/*",
            "users/?",
            "users/[a]",
            "a~b",
            "~",
            "users/alice\n",
        ],
        *[None, 7, True, b"users", (), [], ("users", ""), ("users", 7), ("users", "a/b"), {"users": "alice"}],
    ],
)
def test_any_other_namespace_is_refused_with_what_is_allowed(value: object) -> None:
    with pytest.raises(ValidationError, match=r"^namespace must be 1 to 8 segments"):
        parse_namespace(value)


def test_a_namespace_may_be_a_sequence() -> None:
    assert parse_namespace(["users", "alice"]) == parse_namespace("users/alice")


@given(NAMESPACES)
def test_a_namespace_survives_its_marker(namespace: Namespace) -> None:
    assert keys.parse_marker_key(keys.marker_key(namespace)) == namespace


@given(NAMESPACES, NAMESPACES)
def test_two_namespaces_never_share_a_marker(left: Namespace, right: Namespace) -> None:
    assert (keys.marker_key(left) == keys.marker_key(right)) == (left == right)


@pytest.mark.parametrize("key", ["memory/users/alice/_index/HEAD", "memory/_namespaces/", "memory/_namespaces/a~~b"])
def test_a_key_that_is_no_marker_names_no_namespace(key: str) -> None:
    assert keys.parse_marker_key(key) is None


# --- keys -------------------------------------------------------------------------------------------------------------


@given(NAMESPACES, st.sampled_from(Kind), IDS)
def test_the_key_of_a_memory_says_which_it_is(namespace: Namespace, kind: Kind, memory_id: str) -> None:
    key = keys.memory_key(namespace, kind, memory_id)
    assert parse_truth_key(key) == TruthKey(namespace, kind, memory_id)


@given(NAMESPACES, IDS)
def test_the_key_of_a_tombstone_says_whose_it_is(namespace: Namespace, memory_id: str) -> None:
    key = keys.tombstone_key(namespace, memory_id)
    assert parse_truth_key(key) == TruthKey(namespace, None, memory_id)


@given(NAMESPACES, IDS)
def test_files_of_the_index_and_claims_are_no_truth(namespace: Namespace, name: str) -> None:
    others = [
        keys.claim_key(namespace, f"{name}.json"),
        keys.head_key(namespace),
        f"{keys.log_prefix(namespace)}{name}.json",
        keys.segment_key(namespace, name),
        keys.vector_key(namespace, name),
        keys.marker_key(namespace),
    ]
    assert [parse_truth_key(key) for key in others] == [None] * len(others)


@pytest.mark.parametrize(
    "key",
    [
        *["", "memory/", "memory//semantic/a.json", "memory/semantic/a.json", "memory/users/semantic/", "a.json"],
        *[
            "users/alice/semantic/a.json",
            "auth/tokens/0123.json",
            "memory/users/semantic/a",
            "memory/users/semantic/a.seg",
        ],
        *["memory/users/semantic/.json", "memory/users/semantic/..json", "memory/users/semantic/a/b.json"],
        *["memory/users/../semantic/a.json", "memory/users/semantic/semantic/a.json", "memory/users/facts/a.json"],
        *["memory/users/semantic/a b.json", "memory/users/semantic/a%2E.json", "memory/users/semantic/用户.json"],
        *["memory/_rounds/semantic/a.json", "memory/users/_tombstones/", "/memory/users/semantic/a.json"],
    ],
)
def test_a_hostile_key_is_no_truth(key: str) -> None:
    assert parse_truth_key(key) is None


def test_an_id_that_ends_like_a_file_keeps_its_end() -> None:
    key = keys.memory_key(Namespace(("users",)), Kind.SEMANTIC, "a.json")
    assert parse_truth_key(key) == TruthKey(Namespace(("users",)), Kind.SEMANTIC, "a.json")


@pytest.mark.parametrize("other", ["users/alice2", "users/al", "users", "users/alice/notes", "users/alice-2"])
def test_a_namespace_owns_no_keys_of_another(other: str) -> None:
    mine = keys.memory_prefix(parse_namespace("users/alice"), Kind.SEMANTIC)
    assert not keys.memory_key(parse_namespace(other), Kind.SEMANTIC, "a").startswith(mine)


# --- index files ------------------------------------------------------------------------------------------------------


@given(NAMESPACES, IDS)
def test_the_key_of_a_segment_says_whose_it_is(namespace: Namespace, name: str) -> None:
    assert keys.parse_segment_key(keys.segment_key(namespace, name)) == namespace


@given(NAMESPACES, IDS)
def test_no_other_object_is_a_segment(namespace: Namespace, name: str) -> None:
    others = [
        keys.memory_key(namespace, Kind.SEMANTIC, f"{name}.seg"),
        keys.vector_key(namespace, name),
        keys.head_key(namespace),
        f"{keys.log_prefix(namespace)}{name}.seg",
        f"{keys.segment_prefix(namespace)}below/{name}.seg",
        f"other/{keys.segment_key(namespace, name)}",
    ]
    assert [keys.parse_segment_key(key) for key in others] == [None] * len(others)


@pytest.mark.parametrize("key", ["", "a.seg", "memory/_index/segments/a.seg", "memory/../_index/segments/a.seg"])
def test_a_segment_of_no_namespace_is_none(key: str) -> None:
    assert keys.parse_segment_key(key) is None
