"""One broken file under a memory key: the others load, the broken one is named, nothing crashes."""

from pathlib import Path

import pytest

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.errors import CorruptError

KEY = "memory/users/alice/semantic/b.json"


@pytest.fixture(
    params=[b"", b"{", b"<html>", b"\xff\xfe\x00", b'{"schema":1}'], ids=["empty", "cut", "html", "binary", "bare"]
)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> MemoryStore:
    """A directory in which the file of the second of three memories is broken."""
    store = MemoryStore.from_url(f"file://{tmp_path}")
    for memory_id in "abc":
        store.remember("users/alice", f"text {memory_id}", id=memory_id)
    (tmp_path / KEY).write_bytes(request.param)
    return store


def test_a_recall_has_the_others_and_names_the_broken_one(store: MemoryStore) -> None:
    result = store.recall("users/alice", "text")
    assert sorted(hit.memory.id for hit in result) == ["a", "c"]
    assert result.corrupt_keys == (KEY,)


def test_a_list_has_the_others_and_names_the_broken_one(store: MemoryStore) -> None:
    page = store.list("users/alice")
    assert sorted(memory.id for memory in page.memories) == ["a", "c"]
    assert page.corrupt_keys == (KEY,)


def test_the_index_can_be_rebuilt_around_it(store: MemoryStore) -> None:
    report = store.reindex("users/alice")
    assert (report.memories, report.corrupt_keys) == (2, (KEY,))
    assert sorted(hit.memory.id for hit in store.recall("users/alice", "text")) == ["a", "c"]


def test_reading_the_broken_one_names_its_key(store: MemoryStore) -> None:
    with pytest.raises(CorruptError) as caught:
        store.get("users/alice", "b")
    assert caught.value.key == KEY
