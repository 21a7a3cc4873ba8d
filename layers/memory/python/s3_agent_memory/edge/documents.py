"""From results to JSON documents, in the shapes that ``wire.answers`` describes."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from s3_agent_memory.domain.codec import memory_to_json
from s3_agent_memory.domain.events import Event, EventPage
from s3_agent_memory.domain.json_values import encode_json
from s3_agent_memory.domain.keys import Namespace, format_namespace
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.domain.timestamps import format_timestamp
from s3_agent_memory.service.memories.historian import MemoryHistory
from s3_agent_memory.service.results import Hit, ImportReport, MemoryPage, RecallResult, Stats

Document = dict[str, object]

# Lambda refuses an answer of more than 6 MB.
ANSWER_BYTES_MAX: Final = 5 * 1024 * 1024
# Digits of a score after the point; what is beyond says nothing about a ranking.
SCORE_DIGITS: Final = 6
# Why a line was refused may repeat a name from it, and a name may be as long as a line.
LINE_MESSAGE_LENGTH_MAX: Final = 500


def encode_answer(document: Document) -> str:
    """Return a document as the text of an answer."""
    return encode_json(document).decode()


def answer_size_bytes(text: str) -> int:
    """Return how large a text is as the JSON string in which Lambda hands it over, with its quotes escaped."""
    return len(json.dumps(text, ensure_ascii=False).encode())


_IDENTITY: Final = ("schema", "id", "namespace", "kind", "created_at", "updated_at", "version")


def memory_document(memory: Memory) -> Document:
    """Return one memory with its key."""
    return {"memory": memory_to_json(memory), "key": memory.key}


def receipt_document(memory: Memory) -> Document:
    """Return what somebody may know of a memory who may change it and not read it: which one it is, and its version."""
    whole = memory_to_json(memory)
    return {"memory": {name: whole[name] for name in _IDENTITY}, "key": memory.key}


def history_document(history: MemoryHistory) -> Document:
    """Return how a memory came to be."""
    parts = {
        "versions": history.versions,
        "predecessors": history.predecessors,
        "successors": history.successors,
    }
    return {name: [memory_to_json(memory) for memory in memories] for name, memories in parts.items()}


def page_document(page: MemoryPage) -> Document:
    """Return one page of a list."""
    document: Document = {
        "memories": [memory_to_json(memory) for memory in page.memories],
        "next_cursor": page.next_cursor,
    }
    degraded: Document = {"degraded": list(page.degraded)} if page.degraded else {}
    return document | degraded | _corrupt_keys(page.corrupt_keys)


def recall_document(result: RecallResult) -> Document:
    """Return the hits of a recall."""
    document: Document = {"hits": [_hit_document(hit) for hit in result.hits], "degraded": list(result.degraded)}
    return document | _corrupt_keys(result.corrupt_keys)


def import_document(report: ImportReport, *, unread_lines: int) -> Document:
    """Return the report of an import, small enough for an answer whatever the lines were."""
    errors = [asdict(error) | {"message": error.message[:LINE_MESSAGE_LENGTH_MAX]} for error in report.errors]
    return asdict(report) | {"errors": errors, "unread_lines": unread_lines}


def events_document(page: EventPage) -> Document:
    """Return one page of the event feed."""
    return {
        "events": [_event_document(event) for event in page.events],
        "cursor": page.cursor,
        "has_more": page.has_more,
    }


def _event_document(event: Event) -> Document:
    document: Document = {
        "type": event.type.value,
        "id": event.id,
        "kind": None if event.kind is None else event.kind.value,
        "version": event.version,
        "at": format_timestamp(event.at),
    }
    return document | ({} if event.by is None else {"by": event.by})


def stats_document(namespace: Namespace, stats: Stats) -> Document:
    """Return the figures of a namespace."""
    figures = asdict(stats) | {"by_kind": {str(kind): count for kind, count in stats.by_kind.items()}}
    return {"namespace": format_namespace(namespace), **figures}


def _hit_document(hit: Hit) -> Document:
    document: Document = {"score": _rounded(hit.score), **memory_document(hit.memory)}
    return document | ({} if hit.explain is None else {"explain": _parts(hit.explain)})


def _parts(parts: Mapping[str, float]) -> dict[str, float]:
    return {name: _rounded(value) for name, value in parts.items()}


def _rounded(score: float) -> float:
    return round(float(score), SCORE_DIGITS)


def _corrupt_keys(keys: tuple[str, ...]) -> Document:
    return {"corrupt_keys": list(keys)} if keys else {}
