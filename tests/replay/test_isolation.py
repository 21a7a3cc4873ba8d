"""Only the exact namespace, everywhere; identity comes from arguments alone; a filter never widens."""

import json
from typing import Any

import pytest

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.domain.memory import Attribution
from s3_agent_memory.errors import AgentMemoryError, NotFoundError, ValidationError
from tests.replay.conftest import Open

LOOK_ALIKES = [
    *["users/john-doe", "users/john_doe", "users/john.doe", "users/john+doe", "users/john@doe", "users/johndoe"],
    *["users/John-doe", "users/john-doe2", "users/john-do", "users", "users/john-doe/notes", "users/john-doe/notes/1"],
    *["users-john/doe", "user/sjohn-doe"],
]


@pytest.fixture
def crowded(store: MemoryStore) -> MemoryStore:
    """A memory with the same id in each namespace; the text says where."""
    for namespace in LOOK_ALIKES:
        store.remember(
            namespace, f"secret of {namespace}", id="secret", tags=["t"], attribution=Attribution(user_id="u")
        )
    return store


def everything_in(store: MemoryStore, namespace: str) -> dict[str, list[str]]:
    """Return the contents that each way of reading finds."""
    return {
        "recall": [hit.memory.content for hit in store.recall(namespace, "secret", limit=100)],
        "recall all": [hit.memory.content for hit in store.recall(namespace, "", limit=100)],
        "recall eventually": [
            hit.memory.content for hit in store.recall(namespace, "secret", filter={"user_id": "u"}, tags=["t"])
        ],
        "list": [memory.content for memory in store.list(namespace, limit=100).memories],
        "export": [json.loads(line)["content"] for line in store.export(namespace)],
        "get": [store.get(namespace, "secret").content],
    }


@pytest.mark.parametrize("is_folded", [False, True])
def test_every_way_of_reading_finds_its_own_namespace_only(crowded: MemoryStore, is_folded: bool) -> None:
    for namespace in LOOK_ALIKES if is_folded else ():
        crowded.sweep(namespace)
    for namespace in LOOK_ALIKES:
        for way, contents in everything_in(crowded, namespace).items():
            assert contents == [f"secret of {namespace}"], f"{way} in {namespace}"
        assert crowded.stats(namespace).memories == 1, namespace


def test_forgetting_in_one_namespace_leaves_the_others(crowded: MemoryStore, open_store: Open) -> None:
    crowded.forget("users/john-doe", "secret")
    crowded.reindex("users/john-doe")
    remaining = [memory.content for name in LOOK_ALIKES for memory in open_store().list(name).memories]
    assert remaining == [f"secret of {name}" for name in LOOK_ALIKES if name != "users/john-doe"]


def test_pruning_in_one_namespace_leaves_the_others(crowded: MemoryStore) -> None:
    for namespace in LOOK_ALIKES:
        crowded.prune_expired(namespace)
    assert all(len(crowded.list(namespace).memories) == 1 for namespace in LOOK_ALIKES)


@pytest.mark.parametrize("action", ["get", "forget", "update"])
def test_the_id_of_a_neighbour_is_not_found(store: MemoryStore, action: str) -> None:
    memory = store.remember("users/john-doe", "secret")
    arguments: dict[str, Any] = {"content": "stolen"} if action == "update" else {}
    with pytest.raises(NotFoundError):
        getattr(store, action)("users/john_doe", memory.id, **arguments)
    assert store.get("users/john-doe", memory.id) == memory


def test_all_namespaces_are_named_once(crowded: MemoryStore) -> None:
    assert sorted(crowded.namespaces()) == sorted(LOOK_ALIKES)


@pytest.mark.parametrize(
    ("prefix", "names"),
    [
        ("users/john-doe", ["users/john-doe", "users/john-doe/notes", "users/john-doe/notes/1"]),
        ("users/john-do", ["users/john-do"]),
        ("users/john", []),
        ("user", ["user/sjohn-doe"]),
        ("users-john", ["users-john/doe"]),
    ],
)
def test_a_prefix_of_namespaces_is_whole_segments(crowded: MemoryStore, prefix: str, names: list[str]) -> None:
    assert sorted(crowded.namespaces(prefix)) == names


@pytest.mark.parametrize(
    "label", ["%", "*", "?", "[a-z]", "a\\b", "a%2Fb", "..%2fbob", "john*", "jo?n", "~", "$", "{a}"]
)
def test_a_pattern_is_no_namespace(crowded: MemoryStore, label: str) -> None:
    with pytest.raises(ValidationError, match="namespace must be"):
        crowded.recall(f"users/{label}", "secret")


@pytest.mark.parametrize("label", ["a%", "a*", "a?", "[a]", "a\\b", "a\\\\b", "a.b", "a%62", "A", "a "])
def test_labels_are_compared_literally(store: MemoryStore, label: str) -> None:
    for value in ("a", "ab", "abc", "a/b", "a\tb"):
        store.remember(
            "n", "neighbour", source=value, tags=[value], data={"k": value}, attribution=Attribution(user_id=value)
        )
    for name in ("source", "user_id", "data.k", *(("tags",) if label == label.strip() else ())):
        assert list(store.recall("n", "neighbour", filter={name: label})) == [], name
        assert store.list("n", filter={name: label}).memories == (), name


# --- identity-looking keys --------------------------------------------------------------------------------------------

FORGED: dict[str, Any] = {
    "user_id": "bob",
    "agent_id": "bob",
    "namespace": "users/bob",
    "tenant": "bob",
    "id": "bobs",
    "created_at": "1999-01-01T00:00:00Z",
    "kind": "procedural",
    "version": 99,
    "__proto__": {"admin": True},
    "__class__": "dict",
    "constructor": {"prototype": {}},
}


def assert_inert(store: MemoryStore, memory_id: str) -> None:
    """Check that the forged keys lie in data and metadata and have no effect."""
    memory = store.get("users/alice", memory_id)
    assert (memory.namespace, memory.kind, memory.attribution) == (("users", "alice"), "semantic", Attribution())
    assert memory.created_at.year >= 2024
    assert (memory.data, memory.metadata) == (FORGED, FORGED)
    assert store.namespaces() == ["users/alice"]
    assert store.list("users/alice", filter={"user_id": "bob"}).memories == ()
    assert list(store.recall("users/bob", "text")) == []


def test_forged_keys_are_inert_when_remembered(store: MemoryStore) -> None:
    assert_inert(store, store.remember("users/alice", "text", data=FORGED, metadata=FORGED).id)


def test_forged_keys_are_inert_in_an_update(store: MemoryStore) -> None:
    memory = store.remember("users/alice", "text")
    store.update("users/alice", memory.id, data=FORGED, metadata=FORGED)
    assert_inert(store, memory.id)


def test_forged_keys_are_inert_in_an_import(store: MemoryStore) -> None:
    line = {"id": "a", "content": "text", "data": FORGED, "metadata": FORGED}
    assert store.import_("users/alice", [json.dumps({**line, "namespace": "users/bob"})]).imported == 1
    assert_inert(store, "a")


@pytest.mark.parametrize("name", ["user_id", "agent_id", "tenant", "__proto__"])
def test_a_forged_field_of_an_import_is_refused_by_name(store: MemoryStore, name: str) -> None:
    report = store.import_("users/alice", [json.dumps({"content": "text", name: "bob"})])
    assert (report.imported, repr(name) in report.errors[0].message) == (0, True)


# --- filters that do not fit ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["usr_id", "userId", "namespace", "metadata", "$or", "tenant"])
@pytest.mark.parametrize("action", ["recall", "list"])
def test_an_unknown_filter_key_is_refused_by_name(crowded: MemoryStore, action: str, name: str) -> None:
    arguments = ("users/john-doe", "secret") if action == "recall" else ("users/john-doe",)
    with pytest.raises(ValidationError) as caught:
        getattr(crowded, action)(*arguments, filter={name: "john"})
    assert repr(name) in str(caught.value)


def test_a_filter_for_a_user_without_memories_finds_nothing(crowded: MemoryStore) -> None:
    wanted = {"user_id": "nobody"}
    assert list(crowded.recall("users/john-doe", "secret", filter=wanted)) == []
    assert crowded.list("users/john-doe", filter=wanted).memories == ()


def test_a_search_after_a_failed_write_finds_nothing_else(crowded: MemoryStore) -> None:
    with pytest.raises(AgentMemoryError):
        crowded.remember("users/new", "secret", importance=7)
    assert list(crowded.recall("users/new", "secret")) == []
    assert "users/new" not in crowded.namespaces()
