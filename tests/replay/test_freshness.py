"""What was acknowledged is found at once, by everybody; an answer that may be stale was asked for."""

from concurrent.futures import ThreadPoolExecutor

from s3_agent_memory.bootstrap import MemoryStore
from tests.replay.conftest import Open

COUNT = 20


def add_at_once(store: MemoryStore, count: int = COUNT) -> set[str]:
    """Add memories from several threads; return the ids."""
    with ThreadPoolExecutor(8) as pool:
        stored = pool.map(
            lambda number: store.remember("n", f"needle {number}", tags=["t"], data={"n": number}), range(count)
        )
        return {memory.id for memory in stored}


def seen_by(store: MemoryStore) -> dict[str, set[str]]:
    """Return the ids that each way of reading finds."""
    return {
        "recall": {hit.memory.id for hit in store.recall("n", "needle", limit=100)},
        "list": {memory.id for memory in store.list("n", limit=100).memories},
        "tag": {memory.id for memory in store.list("n", tags=["t"], limit=100).memories},
        "filter": {memory.id for memory in store.list("n", filter={"data.n": {"$gte": 0}}, limit=100).memories},
    }


def test_concurrent_adds_are_found_by_the_process_that_made_them(store: MemoryStore) -> None:
    ids = add_at_once(store)
    assert seen_by(store) == dict.fromkeys(("recall", "list", "tag", "filter"), ids)


def test_concurrent_adds_are_found_by_another_process(open_store: Open) -> None:
    reader = open_store()
    assert list(reader.recall("n", "needle")) == []
    ids = add_at_once(open_store())
    assert seen_by(reader) == dict.fromkeys(("recall", "list", "tag", "filter"), ids)


def test_updates_and_forgets_are_seen_by_another_process(open_store: Open) -> None:
    writer, reader = open_store(), open_store()
    ids = sorted(add_at_once(writer))
    seen_by(reader)
    for memory_id in ids[:10]:
        writer.forget("n", memory_id)
    for memory_id in ids[10:]:
        writer.update("n", memory_id, content="thread")
    assert list(reader.recall("n", "needle")) == []
    assert {hit.memory.id for hit in reader.recall("n", "thread", limit=100)} == set(ids[10:])


def test_a_fold_by_another_process_changes_nothing_for_a_reader(open_store: Open) -> None:
    writer, reader = open_store(), open_store()
    ids = add_at_once(writer, 100)
    before = seen_by(reader)
    open_store().sweep("n")
    assert seen_by(reader) == before == dict.fromkeys(("recall", "list", "tag", "filter"), ids)


def test_only_an_answer_that_was_asked_for_as_eventual_may_be_stale(open_store: Open) -> None:
    writer, reader = open_store(), open_store()
    add_at_once(writer, 3)
    assert len(reader.recall("n", "needle", consistency="eventual")) == 0
    writer.sweep("n")
    assert len(reader.recall("n", "needle", consistency="eventual")) == 3
