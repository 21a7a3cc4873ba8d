"""Proposing pairs that may say the same: those that do are among them, and they are few."""

from collections.abc import Iterable
from random import Random

import numpy as np

from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.keys import parse_namespace
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.index.near_duplicates.hashing import (
    HASH_COUNT,
    WeightedSets,
    neighbours,
    plane_bands,
    plane_sides,
    term_bands,
    term_signatures,
)
from s3_agent_memory.index.near_duplicates.pairs import NearPairs, jaccard, near_pairs
from s3_agent_memory.index.row import row_of_memory
from s3_agent_memory.index.segment import Segment, build_segment
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.text.analyzer import Analyzer

SEED = 20_261_130
ANALYZER = Analyzer()
PLACE = parse_namespace("n")


def snapshot_of(texts: Iterable[str], tags: tuple[str, ...] = ()) -> Snapshot:
    rows = []
    for number, text in enumerate(texts):
        moment = to_datetime(1_700_000_000_000_000 + number)
        memory = Memory(
            id=f"m{number:06d}",
            namespace=PLACE,
            kind=Kind.SEMANTIC,
            content=text,
            created_at=moment,
            updated_at=moment,
            tags=(f"only-{number}", *tags),
        )
        rows.append(row_of_memory(memory, etag="e", analyzer=ANALYZER))
    half = len(rows) // 2
    bodies = [build_segment(part, analyzer_signature=ANALYZER.signature) for part in (rows[:half], rows[half:])]
    return Snapshot([Segment.decode(body, "key") for body in bodies])


def pairs_of(snapshot: Snapshot) -> NearPairs:
    return near_pairs(snapshot, snapshot.live_docs(), analyzer=ANALYZER, vectors=None)


def random_texts(count: int) -> list[str]:
    random = Random(SEED)
    words = [f"word{number}" for number in range(5_000)]
    weights = [1 / (rank + 10) for rank in range(5_000)]
    return [" ".join(random.choices(words, weights, k=10)) for _ in range(count)]


def test_equal_texts_are_proposed_whatever_labels_they_have() -> None:
    texts = random_texts(500)
    found = pairs_of(snapshot_of([*texts, *texts[:100]], tags=("shared",)))
    together = set(zip(found.left.tolist(), found.right.tolist(), strict=True))
    missing = [number for number in range(100) if (number, 500 + number) not in together]
    assert missing == [], f"seed {SEED}"


def test_words_of_one_class_count_as_one() -> None:
    texts = [*random_texts(200), "Alice purchased an automobile", "Alice bought a car"]
    found = pairs_of(snapshot_of(texts))
    assert (200, 201) in set(zip(found.left.tolist(), found.right.tolist(), strict=True))


def test_far_fewer_pairs_are_compared_than_there_are() -> None:
    found = pairs_of(snapshot_of(random_texts(3_000)))
    assert found.compared < 3_000 * 2_999 / 2 / 5
    assert len(found.left) < 3_000


def test_a_crowd_of_equal_texts_is_compared_in_linear_time() -> None:
    found = pairs_of(snapshot_of(["always the same words here"] * 2_000))
    assert found.compared <= 2_000 * 16 * (HASH_COUNT // 2)
    assert set(found.left.tolist()) | set(found.right.tolist()) == set(range(2_000))


def test_no_rows_make_no_pairs() -> None:
    found = pairs_of(snapshot_of([]))
    assert (len(found.left), found.compared) == (0, 0)


def test_signatures_agree_in_about_the_weighted_jaccard_share() -> None:
    random = np.random.default_rng(SEED)
    hashes = random.integers(1, 2**63, 2_000).astype(np.uint64)
    weights = random.uniform(0.5, 5, 2_000)
    first, second = np.arange(1_400), np.arange(600, 2_000)
    sets = WeightedSets(np.array([0, 1_400, 2_800]), np.concatenate((first, second)), hashes, weights)
    signatures = term_signatures(sets)
    estimate = float((signatures[0] == signatures[1]).mean())
    exact = float(weights[600:1_400].sum() / weights.sum())
    assert abs(estimate - exact) < 4 * (exact * (1 - exact) / HASH_COUNT) ** 0.5, f"seed {SEED}"


def test_near_vectors_share_a_band_and_far_ones_hardly_do() -> None:
    random = np.random.default_rng(SEED)
    base = random.standard_normal((400, 96)).astype(np.float32)
    near = base + 0.2 * random.standard_normal((400, 96)).astype(np.float32)
    bands = plane_bands(plane_sides(np.concatenate((base, near))))
    together = {pair for left, right in neighbours(bands) for pair in zip(left.tolist(), right.tolist(), strict=True)}
    found = sum((number, number + 400) in together for number in range(400))
    assert (found >= 396, len(together) < 40_000) == (True, True), f"seed {SEED}: {found} found, {len(together)} pairs"


def test_bands_of_equal_signatures_are_equal() -> None:
    signatures = np.arange(HASH_COUNT, dtype=np.uint64)[None].repeat(2, axis=0)
    assert (term_bands(signatures)[:, 0] == term_bands(signatures)[:, 1]).all()


def test_jaccard_is_the_share_of_common_words() -> None:
    assert (jaccard("ab", "bc"), jaccard("", ""), jaccard("a", "")) == (1 / 3, 1.0, 0.0)
