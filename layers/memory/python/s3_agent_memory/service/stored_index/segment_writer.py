"""Uploads segments under fresh names; nothing refers to them until a manifest does."""

from collections.abc import Iterable, Sequence

from s3_agent_memory.domain.ids import new_file_name
from s3_agent_memory.domain.keys import Namespace, segment_key
from s3_agent_memory.index.manifest import SegmentRef
from s3_agent_memory.index.row import Row
from s3_agent_memory.index.segment import Segment, build_segment
from s3_agent_memory.service.file_writer import write_once
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.index_cache import IndexCache


class SegmentWriter:
    """Writes segments once and keeps them in the cache, so that their writer need not read them back."""

    def __init__(self, runtime: Runtime, cache: IndexCache) -> None:
        self._runtime = runtime
        self._cache = cache

    def upload(
        self, namespace: Namespace, rows: Iterable[Row], *, analyzer_signature: str, folded_keys: Sequence[str] = ()
    ) -> SegmentRef:
        """Write the segment of ``rows``."""
        body = build_segment(rows, analyzer_signature=analyzer_signature, folded_keys=folded_keys)
        return self.upload_body(namespace, body)

    def upload_body(self, namespace: Namespace, body: bytes) -> SegmentRef:
        """Write a segment that is built already."""
        segment_id = new_file_name(self._runtime.clock, self._runtime.entropy)
        key = segment_key(namespace, segment_id)
        segment = Segment.decode(body, key)
        write_once(self._runtime, key, body, what="write an index segment")
        self._cache.segments.keep(namespace, segment_id, segment)
        return SegmentRef(segment_id, segment.row_count, len(body))
