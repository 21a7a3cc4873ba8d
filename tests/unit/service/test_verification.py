"""Verifying a namespace: nothing sound is accused, whatever is broken is named with what to do, and nothing changes."""

from collections.abc import Callable

import pytest

from s3_agent_memory.domain.erasure import erasure_prefix
from s3_agent_memory.domain.keys import head_key, marker_key, segment_prefix
from s3_agent_memory.domain.verification import Finding, FindingKind, Remedy, Verification, own_folder
from s3_agent_memory.errors import AgentMemoryError
from s3_agent_memory.service.grace import ORPHAN_AGE_MS
from s3_agent_memory.storage.port import ObjectPage, ObjectStore
from tests.fakes.clock import MINUTE
from tests.fakes.faulty_store import Fault
from tests.unit.service.vector_worlds import another_embedder, open_world
from tests.unit.service.worlds import NAMESPACE, PLACE, World

ROOT = f"memory/{NAMESPACE}/"
Damage = Callable[[World], object]


@pytest.fixture
def world() -> World:
    """A namespace with memories, tombstones, a claim, segments, shards and a log; some minutes old."""
    made = open_world()
    for number in range(4):
        made.memories.remember(NAMESPACE, f"fact {number}")
    made.memories.remember(NAMESPACE, "own", id="own")
    made.memories.remember(NAMESPACE, "gone", id="gone")
    made.memories.forget(NAMESPACE, "gone")
    made.fold()
    made.parts.services.vectors.embed(PLACE)
    made.memories.remember(NAMESPACE, "in the log", kind="episodic")
    made.memories.update(NAMESPACE, "own", content="changed")
    made.clock.advance(2 * MINUTE)
    return made


def verify(world: World) -> Verification:
    return world.another_process().memories.verify(NAMESPACE)


def put(key: str, body: bytes) -> Damage:
    return lambda world: world.store.inner.put(key, body)


def first(world: World, prefix: str) -> str:
    return world.store.keys_below(ROOT + prefix)[0]


def spoil(prefix: str) -> Damage:
    """Change one byte in the middle of the first object below a prefix."""

    def damage(world: World) -> None:
        key = first(world, prefix)
        found = world.store.inner.get(key, size_max=10**8)
        assert found is not None
        middle = len(found.body) // 2
        world.store.inner.put(key, found.body[:middle] + bytes([found.body[middle] ^ 1]) + found.body[middle + 1 :])

    return damage


def delete(prefix: str) -> Damage:
    return lambda world: world.store.inner.delete(first(world, prefix))


def delete_log_entries(world: World) -> None:
    world.store.inner.delete_many(world.store.keys_below(ROOT + "_index/log/"))


def bring_back(world: World) -> None:
    """Put the object of a forgotten memory back, as a restored backup would."""
    found = world.store.inner.get(f"{ROOT}semantic/own.json", size_max=10**6)
    assert found is not None
    world.memories.forget(NAMESPACE, "own")
    world.store.inner.put(f"{ROOT}semantic/own.json", found.body)


def copy_to_another_kind(world: World) -> None:
    found = world.store.inner.get(f"{ROOT}semantic/own.json", size_max=10**6)
    assert found is not None
    world.store.inner.put(f"{ROOT}episodic/own.json", found.body.replace(b'"semantic"', b'"episodic"'))


def leave_an_upload(world: World) -> None:
    world.store.inner.put(segment_prefix(PLACE) + "left.seg", b"x")
    world.clock.advance(ORPHAN_AGE_MS / 1_000 + 1)


def lose_the_manifest(world: World) -> None:
    world.clean_up_log()
    world.store.inner.delete(head_key(PLACE))


def begin_an_erasure(world: World) -> None:
    world.memories.erase(NAMESPACE, confirm=NAMESPACE, user_id="nobody", seconds_max=0)


def truncate_a_version(world: World) -> None:
    key = first(world, "_history/own/")
    found = world.store.inner.get(key, size_max=10**6)
    assert found is not None
    world.store.inner.put(key, found.body[:-1])


def spoil_the_record_of_an_erasure(world: World) -> None:
    begin_an_erasure(world)
    (key,) = [key for key in world.store.keys_below(erasure_prefix(PLACE)) if key.endswith(".json")]
    world.store.inner.put(key, b"{")


class _SmallPages:
    """A store that lists a few keys at a time."""

    def __init__(self, inner: ObjectStore) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def list_page(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> ObjectPage:
        return self._inner.list_page(prefix, start_after=start_after, limit=min(limit or 3, 3))


CASES: dict[str, tuple[Damage, FindingKind]] = {
    "a memory is no JSON": (put(f"{ROOT}semantic/own.json", b"{"), FindingKind.MEMORY_UNREADABLE),
    "a memory lies under another key": (
        lambda world: world.store.inner.put(
            f"{ROOT}semantic/other.json",
            world.store.inner.get(f"{ROOT}semantic/own.json", size_max=10**6).body,  # type: ignore[union-attr]
        ),
        FindingKind.MEMORY_UNREADABLE,
    ),
    "a memory is there twice": (copy_to_another_kind, FindingKind.MEMORY_TWICE),
    "a forgotten memory is there": (bring_back, FindingKind.MEMORY_FORGOTTEN),
    "the log is lost": (delete_log_entries, FindingKind.MEMORY_NOT_INDEXED),
    "a row is out of date": (delete_log_entries, FindingKind.ROW_OUTDATED),
    "an object is removed by hand": (delete("semantic/"), FindingKind.ROW_WITHOUT_OBJECT),
    "a tombstone is damaged": (put(f"{ROOT}_tombstones/gone.json", b"{"), FindingKind.TOMBSTONE_UNREADABLE),
    "a claim is damaged": (put(f"{ROOT}_ids/own", b"{"), FindingKind.CLAIM_UNREADABLE),
    "a claim says another kind": (
        put(f"{ROOT}_ids/own", b'{"schema":1,"kind":"episodic"}'),
        FindingKind.CLAIM_CONTRADICTED,
    ),
    "history of a memory that is gone": (put(f"{ROOT}_history/gone/1.json", b"{}"), FindingKind.HISTORY_ORPHANED),
    "an earlier version is truncated": (truncate_a_version, FindingKind.HISTORY_UNREADABLE),
    "an earlier version is another one": (
        lambda world: world.store.inner.put(
            f"{ROOT}_history/own/{2:016d}",
            world.store.inner.get(first(world, "_history/own/"), size_max=10**6).body,  # type: ignore[union-attr]
        ),
        FindingKind.HISTORY_UNREADABLE,
    ),
    "the record of a consolidation is damaged": (
        put(f"{ROOT}_consolidations/run.json", b"{"),
        FindingKind.CONSOLIDATION_UNREADABLE,
    ),
    "the marker is lost": (
        lambda world: world.store.inner.delete(marker_key(PLACE)),
        FindingKind.MARKER_MISSING,
    ),
    "something else lies there": (put(f"{ROOT}semantic/note.txt", b"x"), FindingKind.FOREIGN_OBJECT),
    "a folder is foreign": (put(f"{ROOT}_weird/x", b"x"), FindingKind.FOREIGN_OBJECT),
    "a foreign file lies in the namespace": (put(f"{ROOT}README", b"x"), FindingKind.FOREIGN_OBJECT),
    "a folder among the memories is foreign": (put(f"{ROOT}semantic/a/b.json", b"x"), FindingKind.FOREIGN_OBJECT),
    "a claim has a strange name": (put(f"{ROOT}_ids/a b", b"x"), FindingKind.FOREIGN_OBJECT),
    "a file of the index is foreign": (put(f"{ROOT}_index/x", b"x"), FindingKind.FOREIGN_OBJECT),
    "a file among the segments is foreign": (put(f"{ROOT}_index/segments/x", b"x"), FindingKind.FOREIGN_OBJECT),
    "a file among the versions is foreign": (put(f"{ROOT}_history/own/x", b"x"), FindingKind.FOREIGN_OBJECT),
    "the manifest is damaged": (put(head_key(PLACE), b"{"), FindingKind.MANIFEST_UNREADABLE),
    "the manifest is lost": (lose_the_manifest, FindingKind.MANIFEST_UNREADABLE),
    "a segment is damaged": (spoil("_index/segments/"), FindingKind.SEGMENT_UNREADABLE),
    "a segment is lost": (delete("_index/segments/"), FindingKind.SEGMENT_UNREADABLE),
    "a shard is damaged": (spoil("_index/vectors/"), FindingKind.VECTORS_UNREADABLE),
    "a shard is lost": (delete("_index/vectors/"), FindingKind.VECTORS_UNREADABLE),
    "a log entry is damaged": (put(f"{ROOT}_index/log/x", b"{"), FindingKind.LOG_ENTRY_UNREADABLE),
    "an upload was left": (leave_an_upload, FindingKind.FILE_ORPHANED),
    "an erasure is not finished": (begin_an_erasure, FindingKind.ERASURE_UNFINISHED),
    "the record of an erasure is damaged": (spoil_the_record_of_an_erasure, FindingKind.ERASURE_UNREADABLE),
    "the report of an erasure is damaged": (
        put(f"{erasure_prefix(PLACE)}1700000000000-0123456789abcdef.json", b"{"),
        FindingKind.ERASURE_UNREADABLE,
    ),
}
every_case = pytest.mark.parametrize(("damage", "expected"), CASES.values(), ids=CASES)


def test_a_sound_namespace_has_no_findings(world: World) -> None:
    found = verify(world)
    assert (found.findings, found.memories, found.tombstones, found.claims) == ((), 6, 1, 2)


def test_an_empty_namespace_is_sound() -> None:
    assert verify(World()).is_sound


@every_case
def test_what_is_broken_is_named(world: World, damage: Damage, expected: FindingKind) -> None:
    damage(world)
    assert expected in verify(world).counts


@every_case
def test_nothing_is_changed(world: World, damage: Damage, expected: FindingKind) -> None:
    damage(world)
    process = world._open(world.store)
    world.store.forget_requests()
    process.memories.verify(NAMESPACE)
    assert not [request for request in world.store.requests if request.is_write]


@every_case
def test_what_is_said_puts_it_right(world: World, damage: Damage, expected: FindingKind) -> None:
    damage(world)
    (finding, *_) = [item for item in verify(world).findings if item.kind is expected]
    memories = another_embedder(world).memories
    if finding.remedy is Remedy.BY_HAND:
        return
    if finding.remedy is Remedy.SWEEP:
        memories.sweep(NAMESPACE)
    elif finding.remedy is Remedy.REINDEX:
        memories.reindex(NAMESPACE)
    else:
        memories.erase(NAMESPACE, confirm=NAMESPACE, user_id="nobody")
    # Log entries that were taken in are deleted after their grace.
    for _ in range(3):
        world.clock.advance(2 * MINUTE)
        memories.sweep(NAMESPACE)
    assert expected not in verify(world).counts


@pytest.mark.parametrize("kind", FindingKind)
def test_a_finding_that_is_put_right_by_hand_says_how(kind: FindingKind) -> None:
    finding = Finding(kind, "key")
    assert finding.remedy is not Remedy.BY_HAND or "delete" in finding.meaning


def test_an_unreadable_object_is_the_only_finding_of_its_memory(world: World) -> None:
    world.fold()
    put(f"{ROOT}semantic/own.json", b"{")(world)
    world.clock.advance(2 * MINUTE)
    assert dict(verify(world).counts) == {FindingKind.MEMORY_UNREADABLE: 1}


def test_what_lies_in_a_namespace_below_is_not_foreign(world: World) -> None:
    for number in range(20):
        world.memories.remember(f"{NAMESPACE}/below{number}", "text")
        world.memories.remember(f"users/bob{number}", "text")
    assert verify(world).is_sound
    assert world.another_process().memories.verify("users").is_sound


def test_foreign_objects_are_found_behind_any_folder_and_on_any_page(world: World) -> None:
    inner = world.store.inner
    names = [
        f"{ROOT}{name}"
        for name in ("-", "0b\u00e4d/x", "_a/x", "_index/\u00e4", "below/", "semantic/\u00e4", "z", "\u00e4/x")
    ]
    strange = [name for name in names if not name.endswith("below/")]
    for key in strange:
        inner.put(key, b"x")
    for number in range(30):
        inner.put(f"{ROOT}below/semantic/{number}.json", b"x")
    small = _SmallPages(inner)
    found = world._open(small).memories.verify(NAMESPACE)  # type: ignore[arg-type]
    assert sorted(item.key for item in found.findings) == sorted(strange)


def test_a_record_of_an_erasure_that_lies_under_another_key_is_unreadable(world: World) -> None:
    begin_an_erasure(world)
    prefix = erasure_prefix(PLACE)
    (key,) = [key for key in world.store.keys_below(prefix) if key.endswith(".json")]
    found = world.store.inner.get(key, size_max=10**6)
    assert found is not None
    other = f"{prefix}1700000000000-0123456789abcdef.json"
    world.store.inner.put(other, found.body)
    assert [item.key for item in verify(world).findings if item.kind is FindingKind.ERASURE_UNREADABLE] == [other]


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("semantic/x.json", "semantic/"),
        ("_index/log/x", "_index/log/"),
        ("below/x/semantic/y.json", "below/"),
        ("_index/HEAD", ""),
        ("below", ""),
        ("_weird/x", ""),
        ("a b/x", ""),
    ],
)
def test_a_key_lies_in_a_folder_of_the_store_or_below_another_namespace(name: str, folder: str) -> None:
    assert own_folder(PLACE, ROOT + name) == (ROOT + folder if folder else "")


def test_a_write_under_way_is_no_finding(world: World) -> None:
    world.fold()
    world.store.fail(Fault.LOST_REQUEST, verb="put", key="/_index/log/", times=100)
    with pytest.raises(AgentMemoryError):
        world.memories.remember(NAMESPACE, "just now")
    assert verify(world).is_sound
    world.clock.advance(2 * MINUTE)
    assert set(verify(world).counts) == {FindingKind.MEMORY_NOT_INDEXED}
