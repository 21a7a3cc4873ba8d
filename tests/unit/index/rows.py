"""Rows and segments to test with."""

import random
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.domain.validity import MemoryVersion
from s3_agent_memory.index.row import Row, row_of_memory
from s3_agent_memory.index.segment import Segment, build_segment
from s3_agent_memory.index.text.analyzer import Analyzer

SIGNATURE = "english/1"
ANALYZER = Analyzer()
MOMENT = datetime(2026, 5, 1, tzinfo=UTC)
NOW_US = 1_800_000_000_000_000
DAY_US = 86_400_000_000


def make_row(memory_id: str = "a", **values: Any) -> Row:
    """Return a row; what is not given is plain."""
    plain: dict[str, Any] = {"kind": Kind.SEMANTIC, "version": 1, "importance": 0.5, "length": 1, "terms": {1: 1}}
    return Row(id=memory_id, **{**plain, **values})


def make_deletion(memory_id: str = "a", version: int = 1, **values: Any) -> Row:
    """Return the row of a deletion of one version."""
    return make_row(memory_id, version=version, is_deleted=True, terms={}, length=0, importance=0.0, **values)


def make_memory(memory_id: str = "a", **values: Any) -> Memory:
    """Return a memory; what is not given is plain."""
    plain: dict[str, Any] = {
        "namespace": Namespace(("n",)),
        "kind": Kind.SEMANTIC,
        "content": "plain text",
        "created_at": MOMENT,
        "updated_at": MOMENT,
    }
    return Memory(id=memory_id, **{**plain, **values})


def row_of(memory_id: str = "a", **values: Any) -> Row:
    """Return the row of a memory; what is not given is plain."""
    return row_of_memory(make_memory(memory_id, **values), etag="e", analyzer=ANALYZER)


def make_segment(rows: Iterable[Row], *, folded_keys: Sequence[str] = (), signature: str = SIGNATURE) -> Segment:
    """Return a segment of rows, by way of its bytes."""
    return Segment.decode(build_segment(rows, analyzer_signature=signature, folded_keys=folded_keys), "some.seg")


def random_rows(rng: random.Random, count: int, *, id_count: int, deletion_share: float = 0.2) -> list[Row]:
    """Return rows with random contents, whose ids come out of ``id_count`` ones."""
    return [_random_row(rng, f"id{rng.randrange(id_count)}", rng.random() < deletion_share) for _ in range(count)]


def _random_row(rng: random.Random, memory_id: str, is_deleted: bool) -> Row:
    version = rng.randint(1, 6)
    # What a row holds depends on its id and rank, as it does where memories have one history.
    rng = random.Random(f"{memory_id} {version} {is_deleted}")
    values: dict[str, Any] = {
        "kind": rng.choice(list(Kind)),
        "version": version,
        "etag_hash": rng.randrange(2**64),
        "updated_us": rng.randrange(100),
    }
    if is_deleted:
        return make_deletion(memory_id, **values)
    terms = {rng.randrange(20): rng.randint(1, 255) for _ in range(rng.randrange(6))}
    plain = {
        "created_us": rng.randrange(10),
        "expires_us": rng.choice([0, rng.randrange(1, 100)]),
        "importance": rng.randrange(5) / 4,
        "length": sum(terms.values()),
        "terms": terms,
    }
    return make_row(memory_id, **plain, **values, **_random_validity(rng))


def _random_validity(rng: random.Random) -> dict[str, Any]:
    """Return for some rows when they are true, and what they name."""
    named = [MemoryVersion(f"id{rng.randrange(25)}", rng.randint(1, 6)) for _ in range(rng.randrange(4))]
    begin_us = rng.choice([None, None, rng.randrange(20)])
    return {
        "valid_from_us": begin_us,
        "valid_to_us": rng.choice([None, None, rng.randrange(20, 40)]),
        "supersedes": tuple(named[:2]) if rng.random() < 0.3 else (),
        "consolidated_from": tuple(named[2:]) if rng.random() < 0.3 else (),
    }


def winners(rows: Iterable[Row]) -> dict[str, Row]:
    """Return the row of the highest rank for each id, of equal ranks the last."""
    kept: dict[str, Row] = {}
    for row in rows:
        if row.id not in kept or row.rank >= kept[row.id].rank:
            kept[row.id] = row
    return kept
