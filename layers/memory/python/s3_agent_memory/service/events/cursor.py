"""Cursors of the event feed: which index files, and which unfolded log entries, a consumer has been told about."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, TypeGuard

import numpy as np

from s3_agent_memory.domain.json_values import decode_json, encode_json
from s3_agent_memory.domain.keys import Namespace, format_namespace
from s3_agent_memory.errors import ValidationError

SEEN_COUNT_MAX: Final = 128
"""Unfolded changes that a cursor remembers, 24 bytes each. More are told as soon as they are folded."""

CURSOR_LENGTH_MAX: Final = 8_192
_SEGMENT_COUNT_MAX: Final = 1_024
_PLACE_DIGITS: Final = 16
_WRONG: Final = "the cursor is none of this namespace's event feed"


@dataclass(frozen=True, slots=True)
class SeenChange:
    """A change that was told from the log.

    Attributes:
        id_hash: 64 bits that stand for the memory.
        rank: of its version, or of the deletion of that.
        is_loose: True if no segment held the change when it was told.
    """

    id_hash: int
    rank: int
    is_loose: bool

    @property
    def is_deletion(self) -> bool:
        """True if what was told is that the memory is gone."""
        return bool(self.rank % 2)


@dataclass(frozen=True, slots=True)
class FeedCursor:
    """How far a consumer is.

    Attributes:
        segments: ids of segments whose rows it knows.
        partial: a segment of which it knows the rows before a position, and that position.
        seen: log entries whose change it knows, by ``entry_hash``.
    """

    segments: frozenset[str] = frozenset()
    partial: tuple[str, int] | None = None
    seen: Mapping[int, SeenChange] = field(default_factory=dict)

    def start_in(self, segment_id: str) -> int:
        """Return the position of the first row of a segment that is not known."""
        return self.partial[1] if self.partial is not None and self.partial[0] == segment_id else 0

    def encode(self, namespace: Namespace) -> str:
        """Return the cursor as text that fits into a URL."""
        head = encode_json([_place(namespace), sorted(self.segments), self.partial])
        rows = [(entry, item.id_hash, 2 * item.rank + item.is_loose) for entry, item in self.seen.items()]
        seen = np.array(rows, "<u8").tobytes()
        return base64.urlsafe_b64encode(len(head).to_bytes(4, "big") + head + seen).decode().rstrip("=")


def decode_cursor(text: object, namespace: Namespace) -> FeedCursor:
    """Return the cursor that ``encode`` made.

    Raises:
        ValidationError: it is none, or of another namespace.
    """
    if not isinstance(text, str) or len(text) > CURSOR_LENGTH_MAX:
        raise ValidationError(_WRONG)
    try:
        body = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        length = int.from_bytes(body[:4], "big")
        place, segments, partial = _checked_head(decode_json(body[4 : 4 + length]))
        rows = np.frombuffer(body[4 + length :], "<u8").reshape(-1, 3).tolist()
    except (binascii.Error, ValueError, ValidationError):
        raise ValidationError(_WRONG) from None
    if place != _place(namespace) or len(rows) > SEEN_COUNT_MAX:
        raise ValidationError(_WRONG)
    seen = {entry: SeenChange(changed, rank // 2, bool(rank % 2)) for entry, changed, rank in rows}
    return FeedCursor(segments, partial, seen)


def _checked_head(head: object) -> tuple[str, frozenset[str], tuple[str, int] | None]:
    match head:
        case [str(place), [*segments], None]:
            partial = None
        case [str(place), [*segments], [str(name), int(position)]] if 0 <= position < 2**32:
            partial = (name, position)
        case _:
            raise ValidationError(_WRONG)
    names = frozenset(name for name in segments if _is_name(name))
    is_partial_sound = partial is None or _is_name(partial[0])
    if len(segments) > _SEGMENT_COUNT_MAX or len(names) < len(segments) or not is_partial_sound:
        raise ValidationError(_WRONG)
    return place, names, partial


def _is_name(name: object) -> TypeGuard[str]:
    # A name becomes part of a key that is read.
    return isinstance(name, str) and 0 < len(name) <= 64 and name.isascii() and name.replace("-", "").isalnum()


def _place(namespace: Namespace) -> str:
    return blake2b(format_namespace(namespace).encode(), digest_size=_PLACE_DIGITS // 2).hexdigest()


def entry_hash(key: str) -> int:
    """Return 64 bits that stand for a log entry."""
    return int.from_bytes(blake2b(key.rpartition("/")[2].encode(), digest_size=8).digest(), "little")
