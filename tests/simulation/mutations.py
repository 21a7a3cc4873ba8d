"""Deliberate mistakes in the product, switched on by name: the simulation must catch each of them.

Every mutation replaces one rule of the protocol by what a hurried engineer would write. A simulation that does not
notice one of them proves nothing about that rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

from s3_agent_memory.domain.codec import Tombstone, decode_memory, encode_memory, encode_tombstone
from s3_agent_memory.domain.ids import new_nonce
from s3_agent_memory.domain.keys import TruthKey, head_key, tombstone_key
from s3_agent_memory.errors import (
    ConflictError,
    NotFoundError,
    PreconditionFailedError,
    ThrottledError,
    UnknownOutcomeError,
)
from s3_agent_memory.index import manifest as manifests
from s3_agent_memory.index.manifest import FoldRef, encode_manifest
from s3_agent_memory.service import truth
from s3_agent_memory.service.erasure import index_purger
from s3_agent_memory.service.memories import reader, writer
from s3_agent_memory.service.memories.writer import MemoryWriter
from s3_agent_memory.service.stored_index import head, index_reader, row_loader
from s3_agent_memory.service.stored_index.row_loader import LoadedRows
from s3_agent_memory.service.truth import PresentTombstone, decode_present
from s3_agent_memory.service.upkeep import collector, compactor, folder, sweeper
from s3_agent_memory.service.upkeep.folder import Folder
from s3_agent_memory.storage.retry import Doubt
from tests.simulation.transfer_mutations import TRANSFER_MUTATIONS
from tests.simulation.vector_mutations import VECTOR_MUTATIONS

_FOREVER_MS = 10**15
# Dice may need a thousand seeds and more: played by hand in ``stories``.
SCRIPTED = 0


@dataclass(frozen=True)
class Mutation:
    """One mistake: what it is, how it is put in, and within how many seeds it must be caught."""

    description: str
    patches: Callable[[], list[Any]]
    seed_count_max: int = 400


def _set(target: Any, name: str, value: object) -> Any:
    return patch.object(target, name, value)


# --- the manifest -----------------------------------------------------------------------------------------------------


def _blind_put(self: Any, namespace: Any, etag: Any, manifest: Any) -> None:
    self._runtime.store.put(head_key(namespace), encode_manifest(manifest))


def _stale_body() -> list[Any]:
    original = head.HeadStore.commit

    def commit(self: Any, namespace: Any, delta: Any, **options: Any) -> Any:
        first: list[Any] = []

        def stale(fresh: Any) -> Any:
            if not first:
                first.append(delta(fresh))
            return first[0]

        return original(self, namespace, stale, **options)

    return [_set(head.HeadStore, "commit", commit)]


def _stamp_in_swap() -> list[Any]:
    read_ms: list[int] = []

    def stamp(manifest: Any, now_ms: int) -> Any:
        read_ms.append(now_ms)
        return manifests.stamp(manifest, now_ms)

    def replace_segments(*args: Any, **options: Any) -> Any:
        swapped = manifests.replace_segments(*args, **options)
        return None if swapped is None else manifests.stamp(swapped, read_ms[-1])

    return [_set(compactor, "stamp", stamp), _set(compactor, "replace_segments", replace_segments)]


def _stamp_in_fold() -> list[Any]:
    original = manifests.add_fold

    def add_fold(manifest: Any, segment: Any, **options: Any) -> Any:
        added = original(manifest, segment, **options)
        if added is None or added is manifest:
            return added
        folds = tuple(
            FoldRef(item.segment_id, int(item.segment_id.partition("-")[0])) if item.stamped_ms is None else item
            for item in added.folds
        )
        return replace(added, folds=folds)

    return [_set(folder, "add_fold", add_fold)]


def _clock_watermark() -> list[Any]:
    def folded_keys(self: Any, namespace: Any, manifest: Any) -> Any:
        segments = self.segments(namespace, [item.id for item in manifest.segments])
        last = max((key for segment in segments for key in segment.folded_keys), default="")
        listed = self.list_log(namespace)
        return frozenset(key for key in listed if key <= last)

    return [_set(index_reader.IndexReader, "folded_keys", folded_keys)]


# --- folding and collecting -------------------------------------------------------------------------------------------


def _trust_log_payload() -> list[Any]:
    original = Folder.fold

    def fold(self: Any, namespace: Any, hints: Any = None, **options: Any) -> Any:
        keys = self._reader.list_log(namespace)
        best: dict[str, Any] = {}
        for entry in self._reader.entries(namespace, keys).found.values():
            present = best.get(entry.row.id)
            if present is None or entry.row.rank >= present.rank:
                best[entry.row.id] = entry.row
        trusted = LoadedRows(tuple(best.values()), (), (), ())
        return original(_with_rows(self, lambda *_: trusted), namespace, hints, **options)

    return [_set(Folder, "fold", fold)]


def _with_rows(original: Any, load: Callable[..., LoadedRows]) -> Any:
    """Return a folder that loads rows in another way; the one given stays as it is, for other calls under way."""
    twin = copy(original)
    twin._rows = SimpleNamespace(load=load)
    return twin


def _no_fence() -> list[Any]:
    return [_set(collector, "_bumped", lambda manifest: manifest)]


def _drop_deletions_early() -> list[Any]:
    def absent(ids: Any, _elsewhere: Any) -> Any:
        return np.ones(len(ids), dtype=np.bool_)

    return [_set(compactor, "DELETION_AGE_MS", -_FOREVER_MS // 1000), _set(compactor, "_absent", absent)]


def _indexer_ignores_tombstones() -> list[Any]:
    return [_set(row_loader, "is_dead", lambda *_: False)]


def _repair_takes_in_the_log() -> list[Any]:
    original = Folder.fold

    def fold(self: Any, namespace: Any, hints: Any = None, *, known: Any = None, **options: Any) -> Any:
        def load_unknown(*arguments: Any) -> LoadedRows:
            loaded = self._rows.load(*arguments)
            return replace(loaded, rows=tuple(row for row in loaded.rows if not folder._has_row(known, row)))

        twin = self if known is None else _with_rows(self, load_unknown)
        return original(twin, namespace, hints, **options)

    return [_set(Folder, "fold", fold)]


def _sweep_trusts_events() -> list[Any]:
    return [_set(sweeper.Sweeper, "_suspects", lambda *_: ({}, 0))]


# --- memory objects ---------------------------------------------------------------------------------------------------


def _write_timeout_is_success() -> list[Any]:
    original = MemoryWriter._put

    def put(self: Any, memory: Any, doubt: Any, **options: Any) -> Any:
        etag = original(self, memory, doubt, **options)
        return "unknown" if etag is None and doubt.may_have_effect else etag

    return [_set(MemoryWriter, "_put", put)]


def _conflict_409_means_exists() -> list[Any]:
    def put(self: Any, memory: Any, doubt: Any, **options: Any) -> Any:
        body = encode_memory(memory)
        doubt.sent.add(body)
        try:
            return self._runtime.store.put(memory.key, body, **options)
        except PreconditionFailedError as error:
            if options.get("if_absent") and "409" in str(error):
                raise ConflictError(f"the id {memory.id} is in use") from error
            return None
        except ThrottledError:
            return None
        except UnknownOutcomeError:
            doubt.may_have_effect = True
            return None

    return [_set(MemoryWriter, "_put", put)]


def _blind_delete() -> list[Any]:
    def delete(self: Any, present: Any, doubt: Any) -> bool:
        try:
            self._runtime.store.delete(present.memory.key)
        except (PreconditionFailedError, ThrottledError, UnknownOutcomeError):
            doubt.may_have_effect = True
            return False
        return True

    return [_set(MemoryWriter, "_delete", delete)]


def _tombstone_after_delete() -> list[Any]:
    def forget(
        self: Any, namespace: Any, memory_id: Any, *, kind: Any = None, reason: Any = None, only_if: Any = None
    ) -> bool:
        with Doubt() as doubt:
            for _ in self._runtime.retrier.attempts("forget"):
                present = self._find(namespace, memory_id, kind)
                if present is None:
                    found = self._truth.tombstone(namespace, memory_id)
                    if found is None:
                        raise NotFoundError("there is no memory")
                    self._log_tombstone(namespace, found)
                    return True
                if only_if is not None and not only_if(present.memory):
                    return False
                if self._delete(present, doubt):
                    self._log_tombstone(namespace, self._raise_tombstone(present.memory, reason, doubt))
                    return True
        raise AssertionError

    return [_set(MemoryWriter, "forget", forget)]


def _tombstone_falls() -> list[Any]:
    def raise_tombstone(self: Any, memory: Any, reason: Any, doubt: Any) -> Any:
        for _ in self._runtime.retrier.attempts("write a tombstone"):
            raised = Tombstone(
                id=memory.id,
                kind=memory.kind,
                deletes_version=memory.version,
                forgotten_at="2023-01-01T00:00:00.000000Z",
                reason=reason,
                nonce=new_nonce(self._runtime.entropy),
            )
            try:
                etag = self._runtime.store.put(tombstone_key(memory.namespace, memory.id), encode_tombstone(raised))
            except (PreconditionFailedError, ThrottledError, UnknownOutcomeError):
                doubt.may_have_effect = True
                continue
            return PresentTombstone(raised, etag)
        raise AssertionError

    return [_set(MemoryWriter, "_raise_tombstone", raise_tombstone)]


def _update_ignores_tombstones() -> list[Any]:
    def update(
        self: Any,
        namespace: Any,
        memory_id: Any,
        change: Any,
        *,
        kind: Any = None,
        expected_version: Any = None,
    ) -> Any:
        sent_at = None
        with Doubt() as doubt:
            for _ in self._runtime.retrier.attempts("update"):
                present = self._present(namespace, memory_id, kind)
                if doubt.is_own(present.body):
                    self._log_memory(writer._Written(present.memory, present.etag))
                    return present.memory
                kind = present.memory.kind
                self._check_updatable(present.memory, expected_version, doubt)
                sent_at = self._later_than(present.memory.updated_at, sent_at)
                changed = replace(
                    change.apply(present.memory, self._runtime.limits),
                    version=present.memory.version + 1,
                    updated_at=sent_at,
                )
                etag = self._put(changed, doubt, if_match=present.etag)
                if etag is not None:
                    self._log_memory(writer._Written(changed, etag))
                    return changed
        raise AssertionError

    return [_set(MemoryWriter, "update", update)]


def _same_bytes() -> list[Any]:
    original = MemoryWriter._put

    def put(self: Any, memory: Any, doubt: Any, **options: Any) -> Any:
        place = TruthKey(memory.namespace, memory.kind, memory.id)
        first = next((decode_memory(body, memory.key, place) for body in doubt.sent), memory)
        return original(self, first, doubt, **options)

    return [_set(MemoryWriter, "_put", put)]


def _dead_off_by_one() -> list[Any]:
    def is_dead(present: Any, tombstone: Any) -> bool:
        return tombstone is not None and present.memory.version < tombstone.tombstone.deletes_version

    return [_set(module, "is_dead", is_dead) for module in (truth, writer, row_loader)]


def _resurrect_at_version_one() -> list[Any]:
    original = MemoryWriter._usable_tombstone

    def usable(self: Any, memory: Any, *, resurrect: bool) -> None:
        original(self, memory, resurrect=resurrect)

    return [_set(MemoryWriter, "_usable_tombstone", usable)]


def _no_log_before_acknowledging() -> list[Any]:
    return [_set(MemoryWriter, "_log", lambda *_: None)]


def _claim_skipped() -> list[Any]:
    return [_set(MemoryWriter, "_claim", lambda *_: None)]


def _get_ignores_tombstones() -> list[Any]:
    def live(self: Any, namespace: Any, memory_id: Any, kind: Any = None) -> Any:
        present = self._find(namespace, memory_id, kind)
        return present.memory if present else None

    return [_set(truth.Truth, "live", live)]


def _trust_the_index() -> list[Any]:
    kept: dict[Any, Any] = {}

    def decode(found: Any, expected: Any) -> Any:
        present = decode_present(found, expected)
        if present is None:
            return kept.get(expected)
        kept[expected] = present
        return present

    return [_set(reader, "decode_present", decode)]


def _nothing_outranked(self: Any, namespace: Any) -> Any:
    return index_purger._Outranked(self._heads.load(namespace).manifest, {})


MUTATIONS: dict[str, Mutation] = {
    "blind_put_of_head": Mutation(
        "the manifest is overwritten without a condition", lambda: [_set(head.HeadStore, "_put", _blind_put)]
    ),
    "stale_body_with_new_etag": Mutation("a lost swap is repeated with the old body", _stale_body),
    "stamp_inside_the_fold": Mutation("a fold stamps its own log entries", _stamp_in_fold, SCRIPTED),
    "stamp_inside_the_swap": Mutation("a merge stamps what it replaces itself", _stamp_in_swap, SCRIPTED),
    "clock_watermark": Mutation("log entries older than the newest folded one count as folded", _clock_watermark),
    "no_log_grace": Mutation(
        "folded log entries are deleted at once", lambda: [_set(folder, "LOG_GRACE_MS", -_FOREVER_MS)], SCRIPTED
    ),
    "no_segment_grace": Mutation(
        "replaced segments are deleted at once",
        lambda: [
            _set(collector, "TRASH_GRACE_MS", -_FOREVER_MS),
            _set(collector, "TRASH_CROWDED_GRACE_MS", -_FOREVER_MS),
        ],
        1_500,
    ),
    "orphans_removed_at_once": Mutation(
        "uploads nobody names yet are deleted", lambda: [_set(collector, "ORPHAN_AGE_MS", -_FOREVER_MS)]
    ),
    "no_fence_before_orphans": Mutation("orphans are deleted without swapping the manifest first", _no_fence, SCRIPTED),
    "swaps_doubted_for_ever": Mutation(
        "a swap without an answer is repeated however late",
        lambda: [_set(head, "SWAP_DOUBT_MAX_MS", _FOREVER_MS)],
        SCRIPTED,
    ),
    "old_uploads_committed": Mutation(
        "a fold commits however old what it read is",
        lambda: [_set(folder, "UPLOAD_AGE_MAX_MS", _FOREVER_MS), _set(compactor, "UPLOAD_AGE_MAX_MS", _FOREVER_MS)],
        SCRIPTED,
    ),
    "trust_the_log_payload": Mutation("a fold takes rows from log entries, not from objects", _trust_log_payload),
    "drop_deletion_rows_early": Mutation("merges drop deletion rows at once", _drop_deletions_early, SCRIPTED),
    "indexer_ignores_tombstones": Mutation("a fold indexes dead objects as live", _indexer_ignores_tombstones),
    "sweep_trusts_events": Mutation("the sweep compares nothing", _sweep_trusts_events),
    "repair_takes_in_the_log": Mutation(
        "a sweep's repair folds log entries but leaves out rows it knows from the log",
        _repair_takes_in_the_log,
        SCRIPTED,
    ),
    "write_timeout_is_success": Mutation("a write without an answer counts as done", _write_timeout_is_success),
    "conflict_409_means_exists": Mutation("409 on a create counts as 'in use'", _conflict_409_means_exists),
    "forget_without_if_match": Mutation("forget deletes whatever is there", _blind_delete, 1_500),
    "tombstone_after_delete": Mutation("forget deletes first and writes the tombstone later", _tombstone_after_delete),
    "tombstone_falls": Mutation("a tombstone is overwritten by a lower one", _tombstone_falls, SCRIPTED),
    "no_second_tombstone_read": Mutation(
        "remember does not look for a tombstone after its write",
        lambda: [_set(MemoryWriter, "_is_alive", lambda *_args, **_options: True)],
    ),
    "update_ignores_tombstones": Mutation("update revives a dead object", _update_ignores_tombstones, 3_000),
    "dead_off_by_one": Mutation("a tombstone spares the version it names", _dead_off_by_one),
    "resurrect_at_version_one": Mutation("a resurrected id starts at version 1", _resurrect_at_version_one),
    "no_log_before_acknowledging": Mutation(
        "a write is acknowledged without a log entry", _no_log_before_acknowledging
    ),
    "claim_skipped": Mutation("a chosen id is not bound to its kind", _claim_skipped, 1_500),
    "get_ignores_tombstones": Mutation("get returns dead objects", _get_ignores_tombstones, 1_500),
    "trust_the_index": Mutation("recall returns what it once saw of an object that is gone", _trust_the_index),
    "same_bytes_every_attempt": Mutation("every attempt sends the bytes of the first", _same_bytes),
    "erasure_purges_no_index": Mutation(
        "an erasure leaves the index as it is",
        lambda: [_set(index_purger.IndexPurger, "_outranked", _nothing_outranked)],
        SCRIPTED,
    ),
    "erasure_without_a_fence": Mutation(
        "what was read before an erasure may be committed after it",
        lambda: [_set(module, "is_fenced", lambda *_: False) for module in (folder, compactor)],
        SCRIPTED,
    ),
    **{name: Mutation(*mistake) for name, mistake in {**VECTOR_MUTATIONS, **TRANSFER_MUTATIONS}.items()},
}


@contextmanager
def applied(name: str) -> Iterator[None]:
    """Switch one mutation on."""
    with ExitStack() as stack:
        for item in MUTATIONS[name].patches():
            stack.enter_context(item)
        yield
