"""Ids of users, as the world writes them: they come back the same, or one clear error says what is allowed."""

import pytest

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.domain.memory import Attribution
from s3_agent_memory.errors import LimitExceededError, ValidationError

SAFE = ["3f2c8a52-1f9e-4c3b-9c0e-6d1b0d0f7a11", "a.b+tag@x.co", "42", "Alice_B"]
UNSAFE = ["auth0|123", "ü", "用户", "🙂", "x" * 512, ".", "..", "alice ", "", " ", "a\0b", "e\u0301"]


@pytest.mark.parametrize("user_id", SAFE)
def test_a_user_id_may_be_a_namespace_and_a_memory_id(store: MemoryStore, user_id: str) -> None:
    memory = store.remember(f"users/{user_id}", "text", id=user_id)
    assert store.namespaces() == [f"users/{user_id}"]
    assert store.get(("users", user_id), user_id) == memory
    assert store.recall(f"users/{user_id}", "text")[0].memory.id == user_id


@pytest.mark.parametrize("user_id", [*UNSAFE, "a/b"])
def test_any_other_user_id_is_refused_as_an_id_with_what_is_allowed(store: MemoryStore, user_id: str) -> None:
    with pytest.raises(ValidationError, match=r"id must be 1 to 128 characters out of A-Z a-z 0-9 \. _ @ \+ -"):
        store.remember("users/alice", "text", id=user_id)


@pytest.mark.parametrize("user_id", [*UNSAFE, "a/b"])
def test_any_other_user_id_is_refused_as_a_segment_with_what_is_allowed(store: MemoryStore, user_id: str) -> None:
    with pytest.raises(ValidationError, match=r"namespace must be 1 to 8 segments .* A-Z a-z 0-9 \. _ @ \+ -"):
        store.remember(("users", user_id), "text")


@pytest.mark.parametrize("user_id", [item for item in [*SAFE, *UNSAFE, "a/b"] if item])
def test_any_user_id_may_be_an_attribution(store: MemoryStore, user_id: str) -> None:
    memory = store.remember("n", "text", attribution=Attribution(user_id=user_id))
    assert store.get("n", memory.id).attribution.user_id == user_id
    assert [found.id for found in store.list("n", filter={"user_id": user_id}).memories] == [memory.id]


def test_an_attribution_has_a_limit_that_is_named(store: MemoryStore) -> None:
    with pytest.raises(LimitExceededError, match=r"attribution\.user_id has 513 characters; at most 512"):
        store.remember("n", "text", attribution=Attribution(user_id="x" * 513))
