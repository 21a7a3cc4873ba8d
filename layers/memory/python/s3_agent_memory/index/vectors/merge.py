"""Merging vector shards into one: of each text the vectors of the last shard that has any survive."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from s3_agent_memory.errors import ValidationError
from s3_agent_memory.index.id_table import Positions
from s3_agent_memory.index.vectors.layout import encode_shard
from s3_agent_memory.index.vectors.shard import VectorShard

Keep = Callable[[npt.NDArray[np.uint64]], npt.NDArray[np.bool_]]

_CHUNK_ROWS: Final = 16_384


def merge_shards(shards: Sequence[VectorShard], *, keep: Keep) -> bytes:
    """Return the shard that ``build_shard`` would give for the vectors of all shards, in their order.

    Args:
        keep: which of some text keys, ascending and each once, still belong to a memory.

    Raises:
        ValidationError: there is no shard, or they come from different models.
    """
    models = {(shard.model, shard.dimension) for shard in shards}
    if len(models) != 1:
        raise ValidationError("the vector shards to merge must be at least one, and all of one model")
    ((model, _),) = models
    keys = np.concatenate([shard.text_keys for shard in shards])
    survivors = _survivors(keys, _sources(shards), keep)
    return encode_shard(
        keys[survivors],
        np.concatenate([shard.scales for shard in shards])[survivors],
        _codes_of(shards, survivors),
        model=model,
    )


def _sources(shards: Sequence[VectorShard]) -> npt.NDArray[np.uint32]:
    """Return the index of the shard that each row comes from."""
    return np.repeat(np.arange(len(shards), dtype=np.uint32), [shard.row_count for shard in shards])


def _survivors(keys: npt.NDArray[np.uint64], sources: npt.NDArray[np.uint32], keep: Keep) -> Positions:
    """Return the rows that stay, by ascending key; windows of a text stay in their order."""
    order = np.argsort(keys, kind="stable")
    keys, sources = keys[order], sources[order]
    ends = np.flatnonzero(np.append(keys[1:] != keys[:-1], np.ones(min(1, len(keys)), np.bool_))) + 1
    counts = np.diff(ends, prepend=0)
    is_of_last_shard = sources == np.repeat(sources[ends - 1], counts)
    survivors: Positions = order[is_of_last_shard & np.repeat(keep(keys[ends - 1]), counts)]
    return survivors


def _codes_of(shards: Sequence[VectorShard], rows: Positions) -> npt.NDArray[np.int8]:
    """Gather codes of some rows, counted over all shards; a part at a time, so that they are copied only once."""
    codes = np.empty((len(rows), shards[0].dimension), np.int8)
    bases = np.cumsum([0, *(shard.row_count for shard in shards)])
    for first in range(0, len(rows), _CHUNK_ROWS):
        part = rows[first : first + _CHUNK_ROWS]
        for shard, base in zip(shards, bases.tolist(), strict=False):
            index = np.flatnonzero((part >= base) & (part < base + shard.row_count))
            codes[first + index] = shard.codes[part[index] - base]
    return codes
