"""Windows over conversations are those of brute force, however the turns lie in segments."""

import math
import random
from dataclasses import replace

import pytest

from s3_agent_memory.index.bm25 import TermPostings
from s3_agent_memory.index.terms import BODY, term_hash
from s3_agent_memory.index.window_bm25 import WindowShape, score_windows, windows_of
from tests.reference.bm25_oracle import live_rows
from tests.reference.corpora import random_corpus, random_query, scattered, snapshot_of

SEEDS = range(60)
SESSIONS = (0, 0, 11, 12, 13, 14)
K1, B = 0.9, 0.4


def conversations(rng, *, row_count):
    """Return rows of which many are turns, of conversations that cross each other and often begin at one moment."""
    rows = random_corpus(rng, row_count=row_count, id_count=row_count)
    moments = [rng.randrange(4) for _ in range(3)]
    changed = []
    for row in rows:
        drawn = random.Random(f"{row.id} {row.version}")
        turn = replace(
            row, session=drawn.choice(SESSIONS), sequence=drawn.randrange(3), created_us=drawn.choice(moments)
        )
        changed.append(row if row.is_deleted else turn)
    return changed


def neighbours(rows, radius):
    """Return for each id the rows within its window, each with its distance, its own at 0."""
    found = {row.id: [(0, row)] for row in rows}
    for session in set(SESSIONS) - {0}:
        turns = sorted(
            (row for row in rows if row.session == session), key=lambda row: (row.created_us, row.sequence, row.id)
        )
        for place, row in enumerate(turns):
            for other, turn in enumerate(turns):
                if 0 < abs(other - place) <= radius:
                    found[row.id].append((abs(other - place), turn))
    return found


def window_scores(rows, query, shape):
    """Return the BM25 score over windows of every row that has a term of the query in its window."""
    windows = neighbours(rows, shape.radius)

    def weighted(memory_id, value):
        return sum(shape.decay**distance * value(row) for distance, row in windows[memory_id])

    lengths = {row.id: weighted(row.id, lambda other: other.length) for row in rows}
    average = sum(lengths.values()) / max(1, len(rows))
    scores: dict[str, float] = {}
    for term in query:
        found = {row.id: weighted(row.id, lambda other: other.terms.get(term, 0)) for row in rows}  # noqa: B023
        found = {memory_id: tf for memory_id, tf in found.items() if tf}
        idf = math.log(1 + (len(rows) - len(found) + 0.5) / (len(found) + 0.5))
        for memory_id, tf in found.items():
            norm = K1 * (1 - B + B * lengths[memory_id] / average)
            scores[memory_id] = scores.get(memory_id, 0) + idf * tf * (K1 + 1) / (tf + norm)
    return scores


def scores_of(snapshot, terms, shape):
    windows = windows_of(snapshot, shape)
    assert windows is not None
    found = score_windows(snapshot, TermPostings.of(snapshot, terms), windows, k1=K1, b=B)
    ids = [memory_id.decode() for memory_id in snapshot.ids(found.docs).tolist()]
    return dict(zip(ids, found.values.tolist(), strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_scores_over_windows_are_those_of_brute_force(seed):
    rng = random.Random(seed)
    rows = conversations(rng, row_count=rng.choice([12, 90]))
    shape = WindowShape(rng.choice([1, 3, 8]), rng.choice([0.5, 1.0]))
    terms = [term_hash(BODY, word) for word in random_query(rng)]
    found = scores_of(scattered(rng, rows), terms, shape)
    assert found == pytest.approx(window_scores(live_rows(rows), terms, shape), rel=1e-4), f"seed {seed}"


@pytest.mark.parametrize("seed", SEEDS)
def test_scores_do_not_depend_on_how_turns_lie_in_segments(seed):
    rng = random.Random(seed)
    rows = conversations(rng, row_count=90)
    terms = [term_hash(BODY, word) for word in random_query(rng)]
    grown = scores_of(scattered(rng, rows), terms, WindowShape(3, 0.5))
    assert grown == scores_of(snapshot_of(live_rows(rows)), terms, WindowShape(3, 0.5)), f"seed {seed}"


def test_without_conversations_there_are_no_windows():
    snapshot = snapshot_of(random_corpus(random.Random(1)))
    assert windows_of(snapshot, WindowShape(3, 0.5)) is None


def test_a_radius_of_zero_makes_no_windows():
    snapshot = snapshot_of(conversations(random.Random(1), row_count=20))
    assert windows_of(snapshot, WindowShape(0, 0.5)) is None
