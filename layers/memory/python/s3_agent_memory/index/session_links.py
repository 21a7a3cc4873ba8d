"""Conversations in a snapshot: which turn comes before and after which.

Turns of a conversation are ordered by creation, then by the sequence of their ids. They may lie in several segments and
between turns of other conversations, and some may be deleted; so each live row knows its neighbours. The links of a
segment alone are computed once. A snapshot corrects them for the conversations that reach over several segments or have
lost a turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from s3_agent_memory.index.id_table import Positions
from s3_agent_memory.index.segment import Segment

NO_DOC: Final = -1
Links = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class SessionLinks:
    """The turn before and after each row, by document number; ``NO_DOC`` where there is none."""

    previous: Links
    following: Links

    def neighbours(self, docs: Positions, radius: int) -> list[tuple[int, Positions, Positions]]:
        """Return (distance, indexes into ``docs``, documents at that distance), for each direction in turn.

        Within one element no document occurs twice if none does in ``docs``: a turn has one turn before it.
        """
        found: list[tuple[int, Positions, Positions]] = []
        for links in (self.previous, self.following):
            index, reached = np.arange(len(docs)), docs
            for distance in range(1, radius + 1):
                reached = links[reached].astype(np.int64)
                is_there = reached >= 0
                index, reached = index[is_there], reached[is_there]
                if not len(reached):
                    break
                found.append((distance, index, reached))
        return found


def link_sessions(segments: Sequence[Segment], bases: npt.NDArray[np.int64], dead: Positions) -> SessionLinks | None:
    """Return the links of all live rows, or None if no row is a turn of a conversation.

    Args:
        segments: the segments of a snapshot.
        bases: number of rows before each segment, and of all rows at the end.
        dead: document numbers of rows that do not count.
    """
    if not any(len(segment.session_order) for segment in segments):
        return None
    previous = np.full(int(bases[-1]), NO_DOC, np.int32)
    following = previous.copy()
    for segment, base in zip(segments, bases.tolist(), strict=False):
        before, after = segment.session_pairs
        previous[after + base] = before + base
        following[before + base] = after + base
    changed = _changed_sessions(segments, bases, dead)
    if len(changed):
        _relink(previous, following, segments, bases, dead=dead, sessions=changed)
    return SessionLinks(previous, following)


def _changed_sessions(
    segments: Sequence[Segment], bases: npt.NDArray[np.int64], dead: Positions
) -> npt.NDArray[np.uint64]:
    """Return the conversations, ascending, that reach over several segments or have rows that do not count."""
    everywhere = np.sort(np.concatenate([segment.session_names for segment in segments]))
    shared = everywhere[1:][everywhere[1:] == everywhere[:-1]]
    cuts = np.searchsorted(dead, bases)
    lost = [
        segment.sessions[dead[start:end] - base]
        for segment, base, start, end in zip(segments, bases, cuts, cuts[1:], strict=False)
    ]
    changed = np.unique(np.concatenate([shared, *lost]))
    return changed[changed > 0]


def _relink(
    previous: Links,
    following: Links,
    segments: Sequence[Segment],
    bases: npt.NDArray[np.int64],
    *,
    dead: Positions,
    sessions: npt.NDArray[np.uint64],
) -> None:
    rows = [segment.turns_of(sessions) for segment in segments]
    docs = np.concatenate([part + base for part, base in zip(rows, bases, strict=False)])
    previous[docs] = NO_DOC
    following[docs] = NO_DOC
    pairs = list(zip(segments, rows, strict=True))
    names, created_us, sequences = (
        np.concatenate([getattr(segment, column)[part] for segment, part in pairs])
        for column in ("sessions", "created_us", "sequences")
    )
    ids = np.concatenate([segment.id_table.take(part) for segment, part in pairs])
    order = np.lexsort((ids, sequences, created_us, names))
    order = order[~np.isin(docs[order], dead)]
    docs, names = docs[order], names[order]
    is_next = names[1:] == names[:-1]
    before, after = docs[:-1][is_next], docs[1:][is_next]
    previous[after] = before
    following[before] = after
