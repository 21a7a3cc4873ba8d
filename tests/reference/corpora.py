"""Random corpora: memories with repeated words, updates and deletions, spread over segments."""

import random
from typing import Any

from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.index.row import Row
from s3_agent_memory.index.segment import Segment, build_segment
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.terms import AUTHOR, BODY, TAG, term_hash

NOW_US = 1_800_000_000_000_000
DAY_US = 86_400_000_000
WORDS = [f"word{number}" for number in range(40)]
TAGS = ["red", "blue", "green"]
AUTHORS = ["Ann", "Bob"]


def random_corpus(rng: random.Random, *, row_count: int = 120, id_count: int = 70) -> list[Row]:
    """Return rows, several for some ids; rows of one id and rank are equal."""
    return [
        _random_row(f"m{rng.randrange(id_count):04}", rng.randint(1, 4), rng.random() < 0.15) for _ in range(row_count)
    ]


def random_query(rng: random.Random) -> list[str]:
    """Return one to six words, some of them frequent, some unknown, some repeated."""
    return [rng.choice([*WORDS[: rng.choice([4, 40])], "unknown"]) for _ in range(rng.randint(1, 6))]


def snapshot_of(rows: list[Row]) -> Snapshot:
    """Return the rows as one freshly built segment."""
    return Snapshot([_segment(rows)])


def scattered(rng: random.Random, rows: list[Row]) -> Snapshot:
    """Return the rows in one to seven segments, as folds would have left them."""
    cuts = sorted(rng.randint(0, len(rows)) for _ in range(rng.randrange(7)))
    return Snapshot([_segment(rows[start:end]) for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)])


def _segment(rows: list[Row]) -> Segment:
    return Segment.decode(build_segment(rows, analyzer_signature="english/1"), "key")


def _random_row(memory_id: str, version: int, is_deleted: bool) -> Row:
    rng = random.Random(f"{memory_id} {version} {is_deleted}")
    values: dict[str, Any] = {"id": memory_id, "version": version, "is_deleted": is_deleted}
    if is_deleted:
        return Row(kind=Kind.SEMANTIC, terms={}, **values)
    # A few words occur in nearly every text, most in few.
    words = [WORDS[min(len(WORDS) - 1, int(rng.paretovariate(0.6)) - 1)] for _ in range(rng.randint(1, 30))]
    terms = {term_hash(BODY, word): min(255, words.count(word)) for word in words}
    terms.update({term_hash(TAG, tag): 1 for tag in TAGS if rng.random() < 0.4})
    terms[term_hash(AUTHOR, rng.choice(AUTHORS))] = 1
    return Row(
        kind=rng.choice(list(Kind)),
        # Few moments and importances, so that many rows tie.
        created_us=NOW_US - rng.choice([0, 1, 30, 400]) * DAY_US,
        updated_us=NOW_US,
        expires_us=rng.choice([0, 0, NOW_US - 1, NOW_US + 1]),
        importance=rng.randrange(5) / 4,
        length=len(words),
        terms=terms,
        **values,
    )
