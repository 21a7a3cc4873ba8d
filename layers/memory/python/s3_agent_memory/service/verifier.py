"""Checking everything a namespace consists of, without changing anything.

Writers and indexers go on meanwhile. So whatever looks wrong about the agreement of objects and index is looked at once
more at the end, against a newer index: only what is wrong both times is reported.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

import numpy as np

from s3_agent_memory import names
from s3_agent_memory.domain.codec import decode_claim, decode_memory
from s3_agent_memory.domain.consolidation import decode_run
from s3_agent_memory.domain.erasure import erasure_prefix
from s3_agent_memory.domain.ids import check_id
from s3_agent_memory.domain.keys import (
    Namespace,
    TruthKey,
    claim_key,
    consolidation_key,
    consolidation_prefix,
    head_key,
    history_prefix,
    log_prefix,
    marker_key,
    memory_key,
    memory_prefix,
    namespace_prefix,
    parse_truth_key,
    segment_key,
    segment_prefix,
    tombstone_key,
    tombstone_prefix,
    vector_key,
    vector_prefix,
    version_key,
)
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.verification import Finding, FindingKind, Verification, own_folder
from s3_agent_memory.errors import CorruptError, ValidationError
from s3_agent_memory.index.log import ENTRY_BYTES_MAX, decode_entry
from s3_agent_memory.index.manifest import Manifest
from s3_agent_memory.index.row import etag_hash
from s3_agent_memory.index.segment import Segment
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.vectors.shard import VectorShard
from s3_agent_memory.service.erasure.records import RECORD_BYTES_MAX, ErasureRecords, decode_record
from s3_agent_memory.service.grace import ORPHAN_AGE_MS, WRITE_AGE_MAX_MS
from s3_agent_memory.service.listing import PAGE_COUNT_MAX, deep_pages
from s3_agent_memory.service.results import Progress, no_progress
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.head import HeadStore, IndexBrokenError
from s3_agent_memory.service.stored_index.index_reader import IndexReader
from s3_agent_memory.service.truth import PresentMemory, Truth, decode_present, decode_present_tombstone, is_dead
from s3_agent_memory.storage.port import Get, ListedObject, ReadResult, StoredObject

FINDING_COUNT_MAX: Final = 1_000
# What is read at once.
_CHUNK_SIZE: Final = 128
_CHUNK_BYTES_MAX: Final = 32 * 1024 * 1024
_SMALL_BYTES_MAX: Final = 64 * 1024
_RUN_BYTES_MAX: Final = 16 * 1024 * 1024
# Sorts behind every character that a key of the store may have.
_AFTER_ALL: Final = "\x7f"
_LOOKED_AT: Final = ("memories", "tombstones", "claims", "segments", "vector_shards", "log_entries")


class Verifier:
    """Verifies namespaces."""

    def __init__(self, runtime: Runtime, truth: Truth, heads: HeadStore, reader: IndexReader) -> None:
        self._runtime = runtime
        self._truth = truth
        self._heads = heads
        self._reader = reader
        self._records = ErasureRecords(runtime)

    def verify(self, namespace: Namespace, *, progress: Progress = no_progress) -> Verification:
        """Check every object, tombstone, claim, log entry and index file, and that the index equals the objects.

        Args:
            progress: called with the memories looked at.
        """
        return _Run(self._runtime, namespace, self._truth, self._reader).verify(
            self._manifest_or_none(namespace), self._records, progress
        )

    def _manifest_or_none(self, namespace: Namespace) -> Manifest | None:
        try:
            return self._heads.load(namespace).manifest
        except IndexBrokenError:
            return None


class _Run:
    """One verification under way."""

    def __init__(self, runtime: Runtime, namespace: Namespace, truth: Truth, reader: IndexReader) -> None:
        self._runtime = runtime
        self._namespace = namespace
        self._truth = truth
        self._reader = reader
        self._findings: list[Finding] = []
        self._counts: Counter[FindingKind] = Counter()
        self._looked_at: Counter[str] = Counter()
        self._kinds: dict[str, Kind] = {}
        self._etags: dict[str, str] = {}
        self._unreadable_ids: set[str] = set()

    def verify(self, manifest: Manifest | None, records: ErasureRecords, progress: Progress) -> Verification:
        self._verify_files(manifest)
        self._verify_log()
        self._verify_memories(progress)
        self._verify_tombstones()
        self._verify_claims()
        self._verify_history()
        self._verify_consolidations()
        self._verify_rows()
        self._verify_erasures(records)
        self._verify_names()
        looked_at = {name: self._looked_at[name] for name in _LOOKED_AT}
        return Verification(findings=tuple(self._findings), counts=self._counts, **looked_at)

    def _find(self, kind: FindingKind, key: str, detail: str = "") -> None:
        self._counts[kind] += 1
        if len(self._findings) < FINDING_COUNT_MAX:
            self._findings.append(Finding(kind, key, detail))

    def _chunks(self, prefix: str) -> Iterator[Sequence[ListedObject]]:
        """Yield everything below a prefix, as much at a time as may be read at once."""
        for page in deep_pages(self._runtime.store, prefix):
            chunk: list[ListedObject] = []
            size_bytes = 0
            for item in page:
                if chunk and (len(chunk) == _CHUNK_SIZE or size_bytes + item.size_bytes > _CHUNK_BYTES_MAX):
                    yield chunk
                    chunk, size_bytes = [], 0
                chunk.append(item)
                size_bytes += item.size_bytes
            yield chunk

    def _read(self, chunk: Sequence[ListedObject], size_max: int) -> Iterator[tuple[ListedObject, ReadResult]]:
        results = self._runtime.store.read_many([Get(item.key, size_max) for item in chunk])
        yield from zip(chunk, results, strict=True)

    # --- the truth ----------------------------------------------------------------------------------------------------

    def _verify_memories(self, progress: Progress) -> None:
        for kind in Kind:
            for chunk in self._chunks(memory_prefix(self._namespace, kind)):
                for item, found in self._read(chunk, self._runtime.limits.object_bytes_max):
                    self._verify_memory(item, found, kind)
                progress(self._looked_at["memories"], None)

    def _verify_memory(self, item: ListedObject, found: ReadResult, kind: Kind) -> None:
        key = parse_truth_key(item.key)
        if key is None:
            self._find(FindingKind.FOREIGN_OBJECT, item.key)
            return
        self._looked_at["memories"] += 1
        try:
            present = decode_present(found, key)
        except CorruptError as error:
            self._unreadable_ids.add(key.memory_id)
            self._find(FindingKind.MEMORY_UNREADABLE, item.key, _reason(error, item.key))
            return
        if present is None:
            # Forgotten since it was listed.
            return
        if self._is_forgotten(present):
            self._find(FindingKind.MEMORY_FORGOTTEN, item.key)
        elif key.memory_id in self._kinds:
            self._find(FindingKind.MEMORY_TWICE, item.key, f"also {self._kinds[key.memory_id]}")
        else:
            self._kinds[key.memory_id] = kind
            self._etags[key.memory_id] = present.etag

    def _is_forgotten(self, present: PresentMemory) -> bool:
        try:
            return is_dead(present, self._truth.tombstone(self._namespace, present.memory.id))
        except CorruptError:
            # The tombstone is a finding of its own.
            return False

    def _verify_tombstones(self) -> None:
        for chunk in self._chunks(tombstone_prefix(self._namespace)):
            for item, found in self._read(chunk, _SMALL_BYTES_MAX):
                key = parse_truth_key(item.key)
                if key is None:
                    self._find(FindingKind.FOREIGN_OBJECT, item.key)
                    continue
                self._looked_at["tombstones"] += 1
                try:
                    present = decode_present_tombstone(found, item.key)
                    is_own = present is None or present.tombstone.id == key.memory_id
                except CorruptError:
                    is_own = False
                if not is_own:
                    self._find(FindingKind.TOMBSTONE_UNREADABLE, item.key)

    def _verify_claims(self) -> None:
        prefix = claim_key(self._namespace, "")
        for chunk in self._chunks(prefix):
            for item, found in self._read(chunk, _SMALL_BYTES_MAX):
                if not _is_id(item.key.removeprefix(prefix)):
                    self._find(FindingKind.FOREIGN_OBJECT, item.key)
                    continue
                self._looked_at["claims"] += 1
                try:
                    kind = decode_claim(found.body, item.key) if isinstance(found, StoredObject) else None
                except CorruptError:
                    self._find(FindingKind.CLAIM_UNREADABLE, item.key)
                    continue
                present = self._kinds.get(item.key.removeprefix(prefix))
                if None not in (kind, present) and kind is not present:
                    self._find(FindingKind.CLAIM_CONTRADICTED, item.key, f"claimed {kind}, stored {present}")

    def _verify_history(self) -> None:
        prefix = history_prefix(self._namespace)
        gone: set[str] = set()
        for chunk in self._chunks(prefix):
            ids = {item.key: item.key.removeprefix(prefix).partition("/")[0] for item in chunk}
            gone |= set(ids.values()) - self._kinds.keys()
            present = [item for item in chunk if ids[item.key] in self._kinds]
            for item, found in self._read(present, self._runtime.limits.object_bytes_max):
                self._verify_version(item.key, ids[item.key], found)
        for memory_id in sorted(gone):
            # An object that cannot be read is a finding of its own.
            with suppress(CorruptError):
                if self._truth.locate(self._namespace, memory_id) is None:
                    self._find(FindingKind.HISTORY_ORPHANED, f"{prefix}{memory_id}/")

    def _verify_version(self, key: str, memory_id: str, found: ReadResult) -> None:
        """Check an earlier version of a memory that is there; one that has left the history meanwhile is none."""
        name = key.rpartition("/")[2]
        is_version = name.isascii() and name.isdigit()
        if not is_version or key != version_key(self._namespace, memory_id, int(name)):
            self._find(FindingKind.FOREIGN_OBJECT, key)
        elif isinstance(found, StoredObject):
            try:
                expected = TruthKey(self._namespace, self._kinds[memory_id], memory_id)
                is_own = decode_memory(found.body, key, expected).version == int(name)
            except CorruptError:
                is_own = False
            if not is_own:
                self._find(FindingKind.HISTORY_UNREADABLE, key)

    def _verify_consolidations(self) -> None:
        for chunk in self._chunks(consolidation_prefix(self._namespace)):
            for item, found in self._read(chunk, _RUN_BYTES_MAX):
                if not item.key.endswith(names.OBJECT_SUFFIX):
                    self._find(FindingKind.FOREIGN_OBJECT, item.key)
                    continue
                try:
                    is_own = not isinstance(found, StoredObject) or item.key == consolidation_key(
                        self._namespace, decode_run(found.body, item.key).id
                    )
                except CorruptError:
                    is_own = False
                if not is_own:
                    self._find(FindingKind.CONSOLIDATION_UNREADABLE, item.key)

    def _verify_erasures(self, records: ErasureRecords) -> None:
        for chunk in self._chunks(erasure_prefix(self._namespace)):
            written = [item for item in chunk if not item.key.endswith(names.OPEN_SUFFIX)]
            for item, found in self._read(written, RECORD_BYTES_MAX):
                if not isinstance(found, StoredObject):
                    continue
                try:
                    is_open = records.is_open(decode_record(found, item.key).erasure)
                except CorruptError:
                    self._find(FindingKind.ERASURE_UNREADABLE, item.key, f"delete {item.key}")
                    continue
                if is_open:
                    self._find(FindingKind.ERASURE_UNFINISHED, item.key)

    def _verify_names(self) -> None:
        """Look for what lies where nothing of the store does; what is left of a page's last folder is passed over."""
        prefix = namespace_prefix(self._namespace)
        start_after = folder = ""
        for _ in range(PAGE_COUNT_MAX):
            page = self._runtime.store.list_page(prefix, start_after=start_after)
            for item in page.objects:
                if folder and item.key.startswith(folder):
                    continue
                folder = own_folder(self._namespace, item.key)
                if not folder and item.key != head_key(self._namespace):
                    self._find(FindingKind.FOREIGN_OBJECT, item.key)
            if page.is_last or not page.objects:
                return
            # A strange name may sort behind that.
            start_after = max(page.objects[-1].key, folder + _AFTER_ALL if folder else "")

    # --- the index ----------------------------------------------------------------------------------------------------

    def _verify_files(self, manifest: Manifest | None) -> None:
        self._verify_marker(manifest)
        if manifest is None:
            self._find(FindingKind.MANIFEST_UNREADABLE, head_key(self._namespace))
            return
        size_max = self._runtime.limits.index_file_bytes_max
        for segment in manifest.segments:
            self._looked_at["segments"] += 1
            key = segment_key(self._namespace, segment.id)
            self._verify_file(FindingKind.SEGMENT_UNREADABLE, key, size_max, segment.row_count)
        for shard in manifest.vectors:
            self._looked_at["vector_shards"] += 1
            key = vector_key(self._namespace, shard.id)
            self._verify_file(FindingKind.VECTORS_UNREADABLE, key, size_max, shard.row_count)
        known = {segment_key(self._namespace, item) for item in manifest.known_ids}
        known |= {vector_key(self._namespace, item) for item in manifest.known_vector_ids}
        horizon_ms = self._runtime.now_ms() - ORPHAN_AGE_MS
        for prefix, suffix in (
            (segment_prefix(self._namespace), names.SEGMENT_SUFFIX),
            (vector_prefix(self._namespace), names.VECTOR_SUFFIX),
        ):
            for page in deep_pages(self._runtime.store, prefix):
                for item in page:
                    if not item.key.endswith(suffix):
                        self._find(FindingKind.FOREIGN_OBJECT, item.key)
                    elif item.key not in known and item.modified_ms < horizon_ms:
                        self._find(FindingKind.FILE_ORPHANED, item.key)

    def _verify_marker(self, manifest: Manifest | None) -> None:
        key = marker_key(self._namespace)
        has_manifest = manifest is None or manifest.version > 0
        if has_manifest and self._runtime.store.get(key, size_max=1) is None:
            self._find(FindingKind.MARKER_MISSING, key)

    def _verify_file(self, kind: FindingKind, key: str, size_max: int, row_count: int) -> None:
        """Read one file by itself, past every cache, and check its checksums and its size."""
        found = self._runtime.store.get(key, size_max=size_max)
        if found is None:
            if key in self._named_now():
                self._find(kind, key, "it is not there")
            return
        try:
            is_segment = kind is FindingKind.SEGMENT_UNREADABLE
            read = Segment.decode(found.body, key) if is_segment else VectorShard.decode(found.body, key)
        except CorruptError as error:
            self._find(kind, key, _reason(error, key))
            return
        if read.row_count != row_count:
            self._find(kind, key, f"it has {read.row_count} rows, the manifest says {row_count}")

    def _named_now(self) -> frozenset[str]:
        """Return the files that the present manifest names: one that was replaced since may be gone."""
        manifest = HeadStore(self._runtime).load_or_empty(self._namespace).manifest
        segments = {segment_key(self._namespace, item) for item in manifest.segment_ids}
        return frozenset(segments | {vector_key(self._namespace, item) for item in manifest.vector_ids})

    def _verify_log(self) -> None:
        for chunk in self._chunks(log_prefix(self._namespace)):
            for item, found in self._read(chunk, ENTRY_BYTES_MAX):
                if "/" in item.key.removeprefix(log_prefix(self._namespace)):
                    self._find(FindingKind.FOREIGN_OBJECT, item.key)
                    continue
                self._looked_at["log_entries"] += 1
                try:
                    if isinstance(found, StoredObject):
                        decode_entry(found.body, item.key)
                except CorruptError:
                    self._find(FindingKind.LOG_ENTRY_UNREADABLE, item.key)

    # --- their agreement ----------------------------------------------------------------------------------------------

    def _verify_rows(self) -> None:
        """Compare the index, the log included, with the objects; what differs is looked at once more."""
        try:
            suspects = self._differing(self._reader.view(self._namespace).snapshot)
            if suspects:
                self._verify_again(suspects, self._reader.view(self._namespace).snapshot)
        except IndexBrokenError:
            # What is broken of it is a finding already, unless the index is lost as a whole.
            if not self._counts[FindingKind.SEGMENT_UNREADABLE] + self._counts[FindingKind.MANIFEST_UNREADABLE]:
                self._find(
                    FindingKind.MANIFEST_UNREADABLE, head_key(self._namespace), "there are memories and no manifest"
                )

    def _differing(self, snapshot: Snapshot) -> dict[str, Kind]:
        suspects: dict[str, Kind] = {}
        ids = list(self._kinds)
        etags, is_deleted, is_present = snapshot.winner_etags(ids)
        hashes = np.array([etag_hash(self._etags[memory_id]) for memory_id in ids], np.uint64)
        for position in np.flatnonzero(is_deleted | ~is_present | (etags != hashes)).tolist():
            suspects[ids[position]] = self._kinds[ids[position]]
        # An object that cannot be read is a finding of its own; its row stays until somebody has put that right.
        known = self._kinds.keys() | self._unreadable_ids
        unknown = {memory_id: kind for memory_id, kind in snapshot.live_ids() if memory_id not in known}
        return suspects | unknown

    def _verify_again(self, suspects: dict[str, Kind], snapshot: Snapshot) -> None:
        for memory_id, kind in suspects.items():
            key = memory_key(self._namespace, kind, memory_id)
            row = snapshot.find(memory_id)
            listed = next(iter(self._runtime.store.list_page(key, limit=1).objects), None)
            item = listed if listed is not None and listed.key == key else None
            is_live = row is not None and not row.is_deleted
            if item is None:
                tombstone = self._runtime.store.get(tombstone_key(self._namespace, memory_id), size_max=1)
                if is_live and tombstone is None:
                    self._find(FindingKind.ROW_WITHOUT_OBJECT, key)
                elif is_live:
                    self._find(FindingKind.ROW_OUTDATED, key, "it is forgotten")
            elif item.modified_ms > self._runtime.now_ms() - WRITE_AGE_MAX_MS:
                # A write under way has no log entry yet.
                continue
            elif row is None or not is_live:
                if memory_id in self._kinds:
                    self._find(FindingKind.MEMORY_NOT_INDEXED, key)
            elif row.etag_hash != etag_hash(item.etag):
                self._find(FindingKind.ROW_OUTDATED, key)


def _reason(error: CorruptError, key: str) -> str:
    """Return what is wrong with an object, without its key, which the finding has anyway."""
    return str(error).removeprefix(key).strip(": ")


def _is_id(name: str) -> bool:
    try:
        check_id(name)
    except ValidationError:
        return False
    return True
