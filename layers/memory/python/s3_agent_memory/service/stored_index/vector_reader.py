"""Reading vectors: the shards of one model, and the vectors that unfolded log entries carry, over a snapshot."""

from collections.abc import Iterable, Sequence

from s3_agent_memory.domain.keys import Namespace, log_prefix
from s3_agent_memory.index.log import LogEntry
from s3_agent_memory.index.manifest import Manifest
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.vectors.shard import VectorShard, build_shard
from s3_agent_memory.index.vectors.view import VectorView
from s3_agent_memory.service.stored_index.index_cache import Contents
from s3_agent_memory.service.stored_index.vector_files import VectorFiles


class VectorReader:
    """Adds the vectors of one model to what an index reader has read."""

    def __init__(self, files: VectorFiles, model: str) -> None:
        self._files = files
        self._model = model

    def contents(
        self, namespace: Namespace, manifest: Manifest, snapshot: Snapshot, entries: Iterable[LogEntry] = ()
    ) -> Contents:
        """Return a snapshot with its vectors.

        Args:
            entries: log entries whose rows are in the snapshot.
        """
        refs = manifest.vectors_of(self._model)
        loaded = self._files.load(namespace, refs)
        usable = _of_one_dimension(loaded)
        shards = [*usable.values(), *self._tail(namespace, list(usable.values()), entries)]
        lost = frozenset(ref.id for ref in refs if ref.id not in usable)
        return Contents(snapshot, VectorView(snapshot, shards), lost)

    def _tail(
        self, namespace: Namespace, shards: Sequence[VectorShard], entries: Iterable[LogEntry]
    ) -> list[VectorShard]:
        """Return the vectors of log entries as one more small shard, or none."""
        found = [entry.vectors.keyed for entry in entries if entry.vectors and entry.vectors.model == self._model]
        if not found:
            return []
        dimension = shards[-1].dimension if shards else found[-1].codes.shape[1]
        fitting = [item for item in found if item.codes.shape[1] == dimension]
        body = build_shard(fitting, model=self._model, dimension=dimension)
        return [VectorShard.decode(body, log_prefix(namespace))]


def _of_one_dimension(shards: dict[str, VectorShard]) -> dict[str, VectorShard]:
    """Return the shards that can be searched together with the newest: somebody may have used a model's name anew."""
    dimension = next((shard.dimension for shard in reversed(shards.values())), 0)
    return {shard_id: shard for shard_id, shard in shards.items() if shard.dimension == dimension}
