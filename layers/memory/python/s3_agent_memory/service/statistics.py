"""Figures about one namespace, from its index alone."""

from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.service.index_reader import IndexReader
from s3_agent_memory.service.results import Stats
from s3_agent_memory.service.runtime import Runtime


class Statistician:
    """Counts what an index holds."""

    def __init__(self, runtime: Runtime, reader: IndexReader) -> None:
        self._runtime = runtime
        self._reader = reader

    def stats(self, namespace: Namespace) -> Stats:
        """Return figures about a namespace; all zero if nothing was ever stored there.

        Raises:
            IndexBrokenError: the index must be rebuilt.
        """
        view = self._reader.view(namespace)
        manifest = view.head.manifest
        return Stats(
            memories=view.snapshot.live_count,
            by_kind={kind.value: count for kind, count in view.snapshot.count_by_kind().items()},
            expired=len(view.snapshot.expired_ids(self._runtime.clock.now_us())),
            log_entries=len(view.log_keys),
            segments=len(manifest.segments),
            index_bytes=sum(segment.size_bytes for segment in manifest.segments),
            head_version=manifest.version,
            digest=view.snapshot.digest(),
            analyzer=view.analyzer.signature,
        )
