"""Compaction: merges segments of one size into a larger one, so that a reader never has more than a few dozen."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.index.manifest import Manifest, is_fenced, replace_segments, stamp
from s3_agent_memory.index.merge_policy import choose_merge
from s3_agent_memory.index.segment import Segment
from s3_agent_memory.index.segment_merge import merge_segments
from s3_agent_memory.service.grace import DELETION_AGE_MS, UPLOAD_AGE_MAX_MS
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.head import HeadStore, IndexBrokenError
from s3_agent_memory.service.stored_index.index_reader import IndexReader
from s3_agent_memory.service.stored_index.segment_writer import SegmentWriter


class Compactor:
    """Merges segments of one namespace at a time."""

    def __init__(self, runtime: Runtime, heads: HeadStore, reader: IndexReader, writer: SegmentWriter) -> None:
        self._runtime = runtime
        self._heads = heads
        self._reader = reader
        self._writer = writer

    def compact(self, namespace: Namespace) -> int:
        """Merge one group of segments if the merge policy finds one; return how many went into it.

        A rival that replaces one of them first makes this merge void; nothing is lost but the work.

        Raises:
            IndexBrokenError: a segment is missing or corrupt.
        """
        started_ms = self._runtime.now_ms()
        manifest = self._heads.load(namespace).manifest
        chosen = choose_merge(manifest)
        if chosen is None:
            return 0
        inputs = [segment.id for segment in chosen]
        try:
            segments = self._reader.segments(namespace, inputs)
            body = self._merge(namespace, manifest, inputs, segments)
        except IndexBrokenError:
            if self._heads.load(namespace).manifest.segment_ids >= manifest.segment_ids:
                raise
            # An erasure has replaced one and waits for nobody.
            return 0
        segment = self._writer.upload_body(namespace, body)

        def delta(fresh: Manifest) -> Manifest | None:
            now_ms = self._runtime.now_ms()
            if now_ms - started_ms > UPLOAD_AGE_MAX_MS or is_fenced(fresh, manifest.version):
                return None
            return replace_segments(stamp(fresh, now_ms), inputs, (segment,), analyzer=manifest.analyzer)

        return 0 if self._heads.commit(namespace, delta) is None else len(inputs)

    def _merge(
        self, namespace: Namespace, manifest: Manifest, inputs: Sequence[str], segments: Sequence[Segment]
    ) -> bytes:
        horizon_us = (self._runtime.now_ms() - DELETION_AGE_MS) * 1_000
        if not any(bool((segment.is_deleted & (segment.updated_us < horizon_us)).any()) for segment in segments):
            return merge_segments(segments, analyzer_signature=manifest.analyzer)
        elsewhere = self._known_elsewhere(namespace, manifest, inputs)
        return merge_segments(
            segments,
            analyzer_signature=manifest.analyzer,
            deletion_horizon_us=horizon_us,
            is_droppable=lambda ids: _absent(ids, elsewhere),
        )

    def _known_elsewhere(self, namespace: Namespace, manifest: Manifest, inputs: Sequence[str]) -> frozenset[str]:
        """Return the ids that other segments or the log know: their deletion rows must stay.

        A row they hold could be older than the deletion and would come back to life without it.
        """
        others = [segment.id for segment in manifest.segments if segment.id not in inputs]
        ids = {memory_id for segment in self._reader.segments(namespace, others) for memory_id in segment.all_ids()}
        entries = self._reader.entries(namespace, self._reader.list_log(namespace))
        return frozenset(ids | {entry.row.id for entry in entries.found.values()})


def _absent(ids: Sequence[str], elsewhere: frozenset[str]) -> npt.NDArray[np.bool_]:
    return np.fromiter((memory_id not in elsewhere for memory_id in ids), dtype=np.bool_, count=len(ids))
