"""Columns that few rows have: when a memory is true, and which versions of others it names.

A segment without such a row has none of these columns. Where it has them, they hold only the rows concerned:

- a *timed* row says itself when it is true; all others are true from their creation on;
- a *naming* row is one version of another memory that a row supersedes, or is consolidated from.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from s3_agent_memory.domain.validity import MemoryVersion
from s3_agent_memory.index.column_file import Column
from s3_agent_memory.index.id_table import IdTable, Positions, hash_ids
from s3_agent_memory.index.row import Row

FOREVER_US: Final = 2**63 - 1
VERSION_MAX: Final = 2**53

COLUMN_DTYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "timed_rows": ("u4",),
    "timed_from_us": ("i8",),
    "timed_to_us": ("i8",),
    "naming_rows": ("u4",),
    "naming_versions": ("u8",),
    "naming_is_whole": ("u1",),
    "naming_id_offsets": ("u4",),
    "naming_id_bytes": ("u1",),
    "naming_id_hashes": ("u8",),
    "naming_id_order": ("u4",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseRows:
    """The columns; ``rows`` are positions, ascending.

    Attributes:
        timed_rows: rows that say when they are true, each once.
        timed_from_us, timed_to_us: from when until before when, int64; ``FOREVER_US`` for no end.
        naming_rows: who names a version; a row may name several.
        naming_ids: whose version is named.
        naming_versions: which one, uint64.
        naming_is_whole: 1 if the row is consolidated from that version, 0 if it supersedes it.
    """

    timed_rows: Positions
    timed_from_us: npt.NDArray[np.int64]
    timed_to_us: npt.NDArray[np.int64]
    naming_rows: Positions
    naming_ids: IdTable
    naming_versions: npt.NDArray[np.uint64]
    naming_is_whole: npt.NDArray[np.uint8]

    @classmethod
    def of_rows(cls, rows: Sequence[Row]) -> Self:
        """Return the columns of some rows, by position."""
        timed = [
            (position, row.begin_us, FOREVER_US if row.valid_to_us is None else row.valid_to_us)
            for position, row in enumerate(rows)
            if row.valid_from_us is not None or row.valid_to_us is not None
        ]
        named = [
            (position, item.id, item.version, is_whole)
            for position, row in enumerate(rows)
            for is_whole, items in ((0, row.supersedes), (1, row.consolidated_from))
            for item in items
        ]
        return cls(
            timed_rows=np.array([item[0] for item in timed], np.int64),
            timed_from_us=np.array([item[1] for item in timed], np.int64),
            timed_to_us=np.array([item[2] for item in timed], np.int64),
            naming_rows=np.array([item[0] for item in named], np.int64),
            naming_ids=IdTable.of([item[1] for item in named]),
            naming_versions=np.array([item[2] for item in named], np.uint64),
            naming_is_whole=np.array([item[3] for item in named], np.uint8),
        )

    @classmethod
    def of_columns(cls, columns: Mapping[str, Column]) -> Self:
        """Return what a file holds, which may be nothing of the kind."""
        if "timed_rows" not in columns:
            return cls.of_rows(())
        return cls(
            timed_rows=columns["timed_rows"].astype(np.int64),
            timed_from_us=columns["timed_from_us"],
            timed_to_us=columns["timed_to_us"],
            naming_rows=columns["naming_rows"].astype(np.int64),
            naming_ids=IdTable(
                hashes=columns["naming_id_hashes"],
                order=columns["naming_id_order"],
                offsets=columns["naming_id_offsets"],
                blob=columns["naming_id_bytes"],
            ),
            naming_versions=columns["naming_versions"],
            naming_is_whole=columns["naming_is_whole"],
        )

    @classmethod
    def moved(cls, parts: Iterable[tuple[Self, npt.NDArray[np.int64]]]) -> Self:
        """Return the rows of several files under new positions.

        Args:
            parts: each file's rows, and the new position of each old one, -1 for one that is left out.
        """
        joined = _joined([_moved(rows, position_of) for rows, position_of in parts])
        timed = np.argsort(joined["timed_rows"], kind="stable")
        naming = np.argsort(joined["naming_rows"], kind="stable")
        ids = joined["naming_ids"][naming].tolist()
        return cls(
            timed_rows=joined["timed_rows"][timed],
            timed_from_us=joined["timed_from_us"][timed],
            timed_to_us=joined["timed_to_us"][timed],
            naming_rows=joined["naming_rows"][naming],
            naming_ids=IdTable.of_hashed(ids, hash_ids([item.decode("ascii") for item in ids], len(ids))),
            naming_versions=joined["naming_versions"][naming],
            naming_is_whole=joined["naming_is_whole"][naming],
        )

    @property
    def is_empty(self) -> bool:
        """True if no row is timed or names anything."""
        return not len(self.timed_rows) and not len(self.naming_rows)

    def columns(self) -> dict[str, Column]:
        """Return what a file holds of these rows: nothing if there are none."""
        if self.is_empty:
            return {}
        return {
            "timed_rows": self.timed_rows.astype(np.uint32),
            "timed_from_us": self.timed_from_us,
            "timed_to_us": self.timed_to_us,
            "naming_rows": self.naming_rows.astype(np.uint32),
            "naming_versions": self.naming_versions,
            "naming_is_whole": self.naming_is_whole,
            "naming_id_offsets": self.naming_ids.offsets,
            "naming_id_bytes": self.naming_ids.blob,
            "naming_id_hashes": self.naming_ids.hashes,
            "naming_id_order": self.naming_ids.order,
        }

    def interval(self, position: int) -> tuple[int, int] | None:
        """Return from when until before when a row says it is true, or None if it says nothing."""
        index = int(self.timed_rows.searchsorted(position))
        if index == len(self.timed_rows) or int(self.timed_rows[index]) != position:
            return None
        return int(self.timed_from_us[index]), int(self.timed_to_us[index])

    def named(self, position: int, *, is_whole: bool) -> tuple[MemoryVersion, ...]:
        """Return the versions that a row is consolidated from (``is_whole``), or supersedes."""
        start, end = self.naming_rows.searchsorted([position, position + 1]).tolist()
        return tuple(
            MemoryVersion(self.naming_ids.text(index), int(self.naming_versions[index]))
            for index in range(start, end)
            if bool(self.naming_is_whole[index]) == is_whole
        )

    def begins(
        self, rows: Positions, created_us: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Return from when each of some rows is true, and whether the row itself says so.

        Args:
            created_us: when each of them was created.
        """
        if not len(self.timed_rows):
            return created_us, np.zeros(len(rows), np.bool_)
        index = np.minimum(self.timed_rows.searchsorted(rows), len(self.timed_rows) - 1)
        begins = np.where(self.timed_rows[index] == rows, self.timed_from_us[index], created_us)
        return begins, begins != created_us


def are_sparse_rows_sound(columns: Mapping[str, Column], row_count: int) -> bool:
    """Return True if no look-up in these columns of a file can leave them or the rows."""
    if "timed_rows" not in columns:
        return True
    timed, naming, hashes = (columns[name] for name in ("timed_rows", "naming_rows", "naming_id_hashes"))
    order, offsets, blob = (columns[f"naming_id_{name}"] for name in ("order", "offsets", "bytes"))
    versions, count = columns["naming_versions"], len(naming)
    return (
        len(columns["timed_from_us"]) == len(columns["timed_to_us"]) == len(timed)
        and len(versions) == len(columns["naming_is_whole"]) == len(hashes) == len(order) == count
        and int(timed.max(initial=0)) < max(1, row_count)
        and int(naming.max(initial=0)) < max(1, row_count)
        and not (row_count == 0 and len(timed) + count)
        and bool((timed[1:] > timed[:-1]).all() and (naming[1:] >= naming[:-1]).all())
        and bool(((versions > 0) & (versions <= VERSION_MAX)).all())
        and bool((columns["naming_is_whole"] < 2).all())
        and len(offsets) == count + 1
        and offsets[0] == 0
        and offsets[-1] == len(blob)
        and bool((offsets[1:] > offsets[:-1]).all())
        and bool(((blob > 0) & (blob < 128)).all())
        and bool((hashes[1:] >= hashes[:-1]).all())
        and int(order.max(initial=0)) < max(1, count)
        and bool((np.bincount(order, minlength=count) == 1).all())
    )


def _moved(rows: SparseRows, position_of: npt.NDArray[np.int64]) -> dict[str, Column]:
    timed, naming = position_of[rows.timed_rows], position_of[rows.naming_rows]
    is_timed, is_naming = timed >= 0, naming >= 0
    return {
        "timed_rows": timed[is_timed],
        "timed_from_us": rows.timed_from_us[is_timed],
        "timed_to_us": rows.timed_to_us[is_timed],
        "naming_rows": naming[is_naming],
        "naming_ids": rows.naming_ids.take(np.flatnonzero(is_naming)),
        "naming_versions": rows.naming_versions[is_naming],
        "naming_is_whole": rows.naming_is_whole[is_naming],
    }


def _joined(parts: Sequence[Mapping[str, Column]]) -> dict[str, Column]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
