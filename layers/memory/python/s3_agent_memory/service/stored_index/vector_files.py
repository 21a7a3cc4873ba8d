"""Vector shards as files: written once under fresh names, read and kept like segments, and passed over when lost."""

from collections.abc import Iterable, Sequence

from s3_agent_memory.domain.ids import new_file_name
from s3_agent_memory.domain.keys import Namespace, vector_key
from s3_agent_memory.errors import CorruptError
from s3_agent_memory.index.manifest import VectorRef
from s3_agent_memory.index.vectors.shard import KeyedVectors, VectorShard, build_shard
from s3_agent_memory.service.file_writer import write_once
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.index_cache import IndexCache
from s3_agent_memory.storage.port import Get, ReadResult, StoredObject


class VectorFiles:
    """Reads and writes the vector shards of any namespace."""

    def __init__(self, runtime: Runtime, cache: IndexCache) -> None:
        self._runtime = runtime
        self._cache = cache

    def upload(self, namespace: Namespace, vectors: Sequence[KeyedVectors], *, model: str) -> VectorRef:
        """Write the shard of some vectors, at least one, all of one model."""
        dimension = vectors[0].codes.shape[1]
        return self.upload_body(namespace, build_shard(vectors, model=model, dimension=dimension))

    def upload_body(self, namespace: Namespace, body: bytes) -> VectorRef:
        """Write a shard that is built already."""
        shard_id = new_file_name(self._runtime.clock, self._runtime.entropy)
        key = vector_key(namespace, shard_id)
        shard = VectorShard.decode(body, key)
        write_once(self._runtime, key, body, what="write a vector shard")
        self._cache.vectors.keep(namespace, shard_id, shard)
        return VectorRef(shard_id, shard.row_count, len(body), shard.model)

    def load(self, namespace: Namespace, refs: Iterable[VectorRef]) -> dict[str, VectorShard]:
        """Return shards by id, in the order given; those that are missing or corrupt are left out.

        A search without some vectors is better than none, and whoever embeds next makes them anew.
        """
        wanted = {ref.id: ref for ref in refs}
        found = self._cache.vectors.find(namespace, wanted)
        absent = [shard_id for shard_id in wanted if shard_id not in found]
        size_max = self._runtime.limits.index_file_bytes_max
        results = self._runtime.store.read_many([Get(vector_key(namespace, item), size_max) for item in absent])
        for shard_id, result in zip(absent, results, strict=True):
            shard = _decode(result, vector_key(namespace, shard_id), wanted[shard_id].model)
            if shard is not None:
                found[shard_id] = shard
                self._cache.vectors.keep(namespace, shard_id, shard)
        return {shard_id: found[shard_id] for shard_id in wanted if shard_id in found}


def _decode(found: ReadResult, key: str, model: str) -> VectorShard | None:
    if not isinstance(found, StoredObject) or found.is_truncated:
        return None
    try:
        shard = VectorShard.decode(found.body, key)
    except CorruptError:
        return None
    return shard if shard.model == model else None
