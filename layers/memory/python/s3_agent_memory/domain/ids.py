"""Memory ids and nonces.

A generated id is ``<12 hex digits of milliseconds><12 random hex digits>``: a plain listing is chronological. A caller
may choose an id of its own out of an allow-list.
"""

import re
import threading
from typing import Final

from s3_agent_memory.domain.clock import Clock, Entropy
from s3_agent_memory.errors import ValidationError

ID_LENGTH_MAX: Final = 128
_RANDOM_BITS: Final = 48
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}")


class IdSource:
    """Makes time-ordered ids of 24 hexadecimal digits that rise from call to call; safe for many threads.

    Memories written one after the other stay in that order, also those of one millisecond: turns of a conversation
    that are imported together keep their places.
    """

    def __init__(self, clock: Clock, entropy: Entropy) -> None:
        self._clock = clock
        self._entropy = entropy
        self._lock = threading.Lock()
        self._last = 0

    def new_id(self) -> str:
        """Return a fresh id."""
        with self._lock:
            now_ms = self._clock.now_us() // 1_000
            drawn = (now_ms << _RANDOM_BITS) | int.from_bytes(self._entropy.random_bytes(_RANDOM_BITS // 8))
            is_same_moment = self._last >> _RANDOM_BITS == now_ms
            self._last = self._last + 1 if is_same_moment and drawn <= self._last else drawn
            return f"{self._last:024x}"


def new_nonce(entropy: Entropy) -> str:
    """Return 16 random hexadecimal digits, by which a writer recognises its own write."""
    return entropy.random_bytes(8).hex()


def new_file_name(clock: Clock, entropy: Entropy) -> str:
    """Return a unique, roughly time-ordered name for an index file or a log entry."""
    return f"{clock.now_us() // 1_000:013d}-{new_nonce(entropy)}"


def written_ms(key: str) -> int:
    """Return when the file of a key got its name from ``new_file_name``, in ms since the epoch; 0 for other names."""
    milliseconds = key.rpartition("/")[2].partition("-")[0]
    return int(milliseconds) if milliseconds.isascii() and milliseconds.isdigit() and len(milliseconds) == 13 else 0


def check_id(value: object) -> str:
    """Return ``value`` if it may be a memory id.

    Raises:
        ValidationError: the message says what is allowed.
    """
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise ValidationError(
            f"id must be 1 to {ID_LENGTH_MAX} characters out of A-Z a-z 0-9 . _ @ + - and start with a letter or digit"
        )
    return value
