"""BM25 over windows: a turn of a conversation is found by the words around it as well as by its own.

The frequency of a term in a turn becomes the sum of ``decay ** distance * frequency`` over the turns at most ``radius``
away; the length of the window is the same sum of lengths. Everything else is BM25 over these frequencies and lengths.
What is answered, and what it answers, often stand one or two turns apart ("Where did you go?" - "To Lisbon.").

Windows are formed when a query is scored, from the postings of the memories alone: a memory that is forgotten leaves
nothing behind in its neighbours.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from s3_agent_memory.index.bm25 import Scores, TermPostings, inverse_document_frequency, saturation
from s3_agent_memory.index.id_table import Positions
from s3_agent_memory.index.session_links import SessionLinks
from s3_agent_memory.index.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class WindowShape:
    """How far a window reaches, in turns, and what a turn counts for its neighbour."""

    radius: int
    decay: float


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of a snapshot: its links, the shape, and the length of each window in words."""

    links: SessionLinks
    shape: WindowShape
    lengths: npt.NDArray[np.float32]
    average_length: float


def windows_of(snapshot: Snapshot, shape: WindowShape) -> Windows | None:
    """Return the windows of a snapshot, or None where each would hold one memory only; kept with the snapshot."""
    links = snapshot.session_links if shape.radius else None
    if links is None:
        return None
    kept = snapshot.derived.get(shape)
    if not isinstance(kept, Windows):
        lengths = _window_lengths(snapshot, links, shape)
        total = float(lengths.sum(dtype=np.float64) - lengths[snapshot.dead].sum(dtype=np.float64))
        kept = Windows(links, shape, lengths, max(1.0, total) / max(1, snapshot.live_count))
        snapshot.derived[shape] = kept
    return kept


def score_windows(snapshot: Snapshot, postings: TermPostings, windows: Windows, *, k1: float, b: float) -> Scores:
    """Return the BM25 scores of all live documents that have a term of the query in their window."""
    frequencies = np.zeros(snapshot.doc_count, np.float32)
    sums = np.zeros(snapshot.doc_count, np.float32)
    first_seen = np.zeros(snapshot.doc_count, np.int32)
    for count, (docs, tfs) in zip(postings.counts.tolist(), postings.by_term(), strict=True):
        touched = _unique(_spread(frequencies, docs, tfs, windows), first_seen)
        parts = saturation(
            frequencies[touched], windows.lengths[touched], average_length=windows.average_length, k1=k1, b=b
        )
        idf = inverse_document_frequency(np.array([len(touched)]), snapshot.live_count)[0]
        sums[touched] += parts * np.float32(idf * count)
        frequencies[touched] = 0
    found = np.flatnonzero(sums)
    return Scores(found, sums[found].astype(np.float64))


def _spread(
    frequencies: npt.NDArray[np.float32], docs: Positions, tfs: npt.NDArray[np.float32], windows: Windows
) -> Positions:
    """Add a term's frequencies to all windows its documents are in; return those documents, with repetitions."""
    frequencies[docs] = tfs
    touched = [docs]
    for distance, index, reached in windows.links.neighbours(docs, windows.shape.radius):
        # No document occurs twice in ``reached``, so each addition counts.
        frequencies[reached] += tfs[index] * np.float32(windows.shape.decay**distance)
        touched.append(reached)
    return np.concatenate(touched)


def _unique(docs: Positions, first_seen: npt.NDArray[np.int32]) -> Positions:
    """Return each document once, without sorting; ``first_seen`` is room for one number a document."""
    order = np.arange(len(docs), dtype=np.int32)
    first_seen[docs] = order
    unique: Positions = docs[first_seen[docs] == order]
    return unique


def _window_lengths(snapshot: Snapshot, links: SessionLinks, shape: WindowShape) -> npt.NDArray[np.float32]:
    lengths = snapshot.lengths.astype(np.float32)
    windows = lengths.copy()
    docs = np.flatnonzero((links.previous >= 0) | (links.following >= 0))
    for distance, index, reached in links.neighbours(docs, shape.radius):
        windows[docs[index]] += lengths[reached] * np.float32(shape.decay**distance)
    return windows
