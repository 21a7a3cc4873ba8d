"""Stored forms of windows, batches, digests and extractions: JSON that a person can read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from s3_agent_memory.domain.json_values import decode_json, encode_json
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.scopes import Contributor, Level, Scope
from s3_agent_memory.domain.timestamps import format_timestamp, parse_timestamp
from s3_agent_memory.domain.turns import ExtractedMemory, LongTerm, Turn
from s3_agent_memory.domain.window import Batch, Erasure, Window
from s3_agent_memory.errors import CorruptError, ValidationError

SCHEMA_VERSION: Final = 1
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """What a session was about, up to a batch.

    Attributes:
        nonce: names this digest; the window's ``head`` says which of those with one number counts.
        previous: the nonce of the digest it continues.
    """

    number: int
    nonce: str
    previous: str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One memory of an extraction, and whose it is."""

    memory: ExtractedMemory
    contributor: Contributor


def encode_window(window: Window) -> bytes:
    """Return the bytes stored for a window."""
    pending = window.pending
    return encode_json(
        {
            "schema": SCHEMA_VERSION,
            "session_id": window.session_id,
            "version": window.version,
            "nonce": window.nonce,
            "epoch": window.epoch,
            "turns": _turns_to_json(window.turns),
            "pending": None if pending is None else {"n": pending.number, "turns": _turns_to_json(pending.turns)},
            "next_batch": window.next_batch,
            "done": window.done,
            "head": window.head,
            "applied": list(window.applied),
            "floor": window.floor,
            "contributors": [_contributor_to_json(item) for item in window.contributors],
            "erasures": [_erasure_to_json(item) for item in window.erasures],
        }
    )


def decode_window(body: bytes, key: str) -> Window:
    """Return the window stored in ``body``.

    Raises:
        CorruptError: the bytes are no window.
    """
    return _decode(body, key, "window", _window_from_json)


def _window_from_json(document: Mapping[str, Any]) -> Window:
    pending = document["pending"]
    return Window(
        session_id=_optional(document["session_id"], str),
        version=_of(document["version"], int),
        nonce=_of(document["nonce"], str),
        epoch=_of(document["epoch"], int),
        turns=_turns_from_json(document["turns"]),
        pending=None
        if pending is None
        else Batch(number=_of(pending["n"], int), turns=_turns_from_json(pending["turns"])),
        next_batch=_of(document["next_batch"], int),
        done=_of(document["done"], int),
        head=_optional(document["head"], str),
        applied=tuple(_of(item, str) for item in document["applied"]),
        floor=_of(document["floor"], str),
        contributors=tuple(_contributor_from_json(item) for item in document["contributors"]),
        erasures=tuple(_erasure_from_json(item) for item in document["erasures"]),
    )


def encode_batch(batch: Batch) -> bytes:
    """Return the bytes stored for a batch; equal for equal batches, whoever writes them."""
    return encode_json({"schema": SCHEMA_VERSION, "n": batch.number, "turns": _turns_to_json(batch.turns)})


def decode_batch(body: bytes, key: str) -> Batch:
    """Return the batch stored in ``body``.

    Raises:
        CorruptError: the bytes are no batch.
    """
    return _decode(
        body, key, "batch", lambda found: Batch(number=_of(found["n"], int), turns=_turns_from_json(found["turns"]))
    )


def encode_digest(digest: Digest) -> bytes:
    """Return the bytes stored for a digest."""
    return encode_json(
        {
            "schema": SCHEMA_VERSION,
            "n": digest.number,
            "nonce": digest.nonce,
            "previous": digest.previous,
            "text": digest.text,
        }
    )


def decode_digest(body: bytes, key: str) -> Digest:
    """Return the digest stored in ``body``.

    Raises:
        CorruptError: the bytes are no digest.
    """

    def parse(found: Mapping[str, Any]) -> Digest:
        return Digest(
            number=_of(found["n"], int),
            nonce=_of(found["nonce"], str),
            previous=_optional(found["previous"], str),
            text=_of(found["text"], str),
        )

    return _decode(body, key, "digest", parse)


def encode_facts(facts: Sequence[Fact]) -> bytes:
    """Return the bytes stored for an extraction."""
    return encode_json({"schema": SCHEMA_VERSION, "facts": [_fact_to_json(fact) for fact in facts]})


def decode_facts(body: bytes, key: str) -> tuple[Fact, ...]:
    """Return the extraction stored in ``body``.

    Raises:
        CorruptError: the bytes are no extraction.
    """
    return _decode(body, key, "extraction", lambda found: tuple(_fact_from_json(item) for item in found["facts"]))


def _decode(body: bytes, key: str, what: str, parse: Callable[[Mapping[str, Any]], _T]) -> _T:
    try:
        document = decode_json(body)
        if not isinstance(document, dict) or document.get("schema") != SCHEMA_VERSION:
            raise ValidationError(f"not a {what} of schema {SCHEMA_VERSION}")
        return parse(document)
    except (KeyError, TypeError, ValueError, ValidationError) as error:
        raise CorruptError(f"{key} holds no readable {what}", key=key) from error


def _turns_to_json(turns: Sequence[Turn]) -> list[dict[str, object]]:
    return [
        {
            "role": turn.role,
            "content": turn.content,
            "at": format_timestamp(turn.at),
            "tokens": turn.token_count,
            "long_term": turn.long_term.value,
            **_contributor_to_json(turn.contributor),
        }
        for turn in turns
    ]


def _turns_from_json(items: Sequence[Mapping[str, Any]]) -> tuple[Turn, ...]:
    return tuple(
        Turn(
            role=_of(item["role"], str),
            content=_of(item["content"], str),
            at=parse_timestamp(item["at"], field="at"),
            token_count=_of(item["tokens"], int),
            long_term=LongTerm(item["long_term"]),
            contributor=_contributor_from_json(item),
        )
        for item in items
    )


def _contributor_to_json(contributor: Contributor) -> dict[str, object]:
    values = {"principal": contributor.principal, "agent_client_id": contributor.agent_client_id}
    return {name: value for name, value in values.items() if value is not None}


def _contributor_from_json(item: Mapping[str, Any]) -> Contributor:
    return Contributor(
        principal=_optional(item.get("principal"), str), agent_client_id=_optional(item.get("agent_client_id"), str)
    )


def _erasure_to_json(erasure: Erasure) -> dict[str, object]:
    scope = erasure.scope
    whose = _contributor_to_json(Contributor(principal=scope.principal, agent_client_id=scope.agent_client_id))
    return {"epoch": erasure.epoch, "done": erasure.done, "level": scope.level.value, **whose}


def _erasure_from_json(item: Mapping[str, Any]) -> Erasure:
    whose = _contributor_from_json(item)
    scope = Scope(level=Level(item["level"]), principal=whose.principal, agent_client_id=whose.agent_client_id)
    return Erasure(epoch=_of(item["epoch"], int), done=_of(item["done"], int), scope=scope)


def _fact_to_json(fact: Fact) -> dict[str, object]:
    memory = fact.memory
    return {
        "content": memory.content,
        "kind": memory.kind.value,
        "importance": memory.importance,
        "tags": list(memory.tags),
        "author": memory.author,
        "at": None if memory.at is None else format_timestamp(memory.at),
        **_contributor_to_json(fact.contributor),
    }


def _fact_from_json(item: Mapping[str, Any]) -> Fact:
    at = item["at"]
    memory = ExtractedMemory(
        content=_of(item["content"], str),
        kind=Kind(item["kind"]),
        importance=float(item["importance"]),
        tags=tuple(_of(tag, str) for tag in item["tags"]),
        author=_optional(item["author"], str),
        at=None if at is None else parse_timestamp(at, field="at"),
    )
    return Fact(memory=memory, contributor=_contributor_from_json(item))


def _of(value: object, kind: type[_T]) -> _T:
    if type(value) is not kind:
        raise ValidationError(f"not a value of type {kind.__name__}")
    return value


def _optional(value: object, kind: type[_T]) -> _T | None:
    return None if value is None else _of(value, kind)
