"""Selecting the best of many values without sorting, or partitioning, all of them."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

_GROUPS_PER_RESULT: Final = 16


def floor_of_top(values: npt.NDArray[Any], count: int) -> Any:
    """Return a value that at least ``count`` of ``values`` reach, and few others.

    Every value belongs to one of many groups; the ``count``-th best of the groups' maxima will do. One pass in place of
    a partition, which becomes slow where many values are equal.

    Args:
        values: more than ``count`` numbers.
        count: at least 1.
    """
    group_count = _GROUPS_PER_RESULT * count
    width = len(values) // group_count
    maxima = values if width < 2 else values[: width * group_count].reshape(width, group_count).max(axis=0)
    return np.partition(maxima, len(maxima) - count)[len(maxima) - count]


def top_candidates(values: npt.NDArray[Any], count: int) -> npt.NDArray[np.intp]:
    """Return the indexes, ascending, of the ``count`` best values, of all that equal the last of them, and of few more.

    All are returned if there are not more than ``count``.
    """
    if len(values) <= count:
        return np.arange(len(values))
    return np.flatnonzero(values >= floor_of_top(values, count))
