"""Finding the vectors of a segment's rows: joining its text keys with those of a shard."""

from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from s3_agent_memory.index.id_table import Positions, ranges
from s3_agent_memory.index.segment import Segment

# Fewer keys than this share of the rows are looked up one by one.
_FEW_KEYS: Final = 1 / 8
# A segment never changes: its keys are sorted once, for as long as it is in use, and serve every shard.
_SORTED: Final[WeakKeyDictionary[Segment, tuple[npt.NDArray[np.uint64], Positions]]] = WeakKeyDictionary()


def match_text_keys(segment: Segment, keys: npt.NDArray[np.uint64]) -> tuple[Positions, Positions]:
    """Return the positions of the rows whose text key is among ``keys``, ascending, and the index of each in ``keys``.

    Both sides are looked up in ascending order, which is several times faster than in any other.

    Args:
        keys: ascending, each once.
    """
    text_keys, order = _sorted_keys(segment)
    if len(keys) <= len(text_keys) * _FEW_KEYS:
        first = text_keys.searchsorted(keys)
        counts = text_keys.searchsorted(keys, "right") - first
        places, index = ranges(first, counts), np.repeat(np.arange(len(keys)), counts)
    else:
        index = keys.searchsorted(text_keys)
        places = np.flatnonzero(keys.take(index, mode="clip") == text_keys)
        index = index[places]
    positions = order[places]
    by_position = np.argsort(positions)
    return positions[by_position], index[by_position]


def _sorted_keys(segment: Segment) -> tuple[npt.NDArray[np.uint64], Positions]:
    found = _SORTED.get(segment)
    if found is None:
        order = np.argsort(segment.text_keys)
        found = _SORTED[segment] = segment.text_keys[order], order
    return found
