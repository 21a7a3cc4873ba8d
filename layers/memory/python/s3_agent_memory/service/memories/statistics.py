"""Figures about one namespace, from its index alone."""

from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.service.results import Stats
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.index_reader import IndexReader, View
from s3_agent_memory.service.stored_index.vector_files import VectorFiles
from s3_agent_memory.service.stored_index.vector_reader import VectorReader


class Statistician:
    """Counts what an index holds."""

    def __init__(self, runtime: Runtime, reader: IndexReader, files: VectorFiles) -> None:
        self._runtime = runtime
        self._reader = reader
        self._files = files

    def stats(self, namespace: Namespace) -> Stats:
        """Return figures about a namespace; all zero if nothing was ever stored there.

        Raises:
            IndexBrokenError: the index must be rebuilt.
        """
        view = self._reader.view(namespace)
        manifest = view.head.manifest
        model, vectors = self._count_vectors(namespace, view)
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
            vectors=vectors,
            embedding_model=model,
        )

    def _count_vectors(self, namespace: Namespace, view: View) -> tuple[str, int]:
        """Return the model of the namespace, which need not be that of this process, and how many vectors it has."""
        manifest = view.head.manifest
        entries = list(self._reader.entries(namespace, sorted(view.tail_keys)).found.values())
        model = manifest.model or next((entry.vectors.model for entry in entries if entry.vectors), "")
        contents = VectorReader(self._files, model).contents(namespace, manifest, view.snapshot, entries)
        return model, contents.vectors.vector_count if contents.vectors else 0
