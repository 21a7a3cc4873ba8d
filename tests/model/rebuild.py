"""An index that grew is the index that a rebuild makes: the same rows, postings and scores."""

from collections.abc import Mapping

from s3_agent_memory.bootstrap import Parts
from s3_agent_memory.domain.keys import parse_namespace
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.index.row import Row

QUERIES = ("", "run", "running metric units", "café 東京都", "cafe the of")


def check_rebuild(grown: Parts, rebuilt: Parts, namespace: str, memories: Mapping[str, Memory]) -> None:
    """Fail unless the index holds exactly these memories and a rebuild changes nothing.

    Args:
        grown, rebuilt: two processes without caches.
    """
    rows, hits = live_rows(grown, namespace), ranked(grown, namespace)
    assert {memory_id: row.version for memory_id, row in rows.items()} == {
        memory.id: memory.version for memory in memories.values()
    }
    report = rebuilt.memories.reindex(namespace)
    assert report.digest_before == report.digest_after
    assert live_rows(rebuilt, namespace) == rows
    assert ranked(rebuilt, namespace) == hits


def live_rows(parts: Parts, namespace: str) -> dict[str, Row]:
    """Return every live row with its postings, by id."""
    snapshot = parts.services.index.view(parse_namespace(namespace)).snapshot
    return {
        row.id: row
        for segment, base in zip(snapshot.segments, snapshot.bases.tolist(), strict=False)
        for position, row in enumerate(segment.rows())
        if snapshot.is_live[base + position]
    }


def ranked(parts: Parts, namespace: str) -> list[tuple[str, str, float]]:
    """Return query, id and exact score of the hits of some queries."""
    return [
        (query, hit.memory.id, hit.score)
        for query in QUERIES
        for hit in parts.memories.recall(namespace, query, limit=100)
    ]
