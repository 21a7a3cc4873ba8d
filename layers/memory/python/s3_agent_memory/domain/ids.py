"""Memory ids and nonces.

A generated id is ``<12 hex digits of milliseconds><12 random hex digits>``: a plain listing is chronological. A caller
may choose an id of its own out of an allow-list.
"""

import re
from typing import Final

from s3_agent_memory.domain.clock import Clock, Entropy
from s3_agent_memory.errors import ValidationError

ID_LENGTH_MAX: Final = 128
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}")


def new_id(clock: Clock, entropy: Entropy) -> str:
    """Return a fresh time-ordered id of 24 hexadecimal digits."""
    return f"{clock.now_us() // 1_000:012x}{entropy.random_bytes(6).hex()}"


def new_nonce(entropy: Entropy) -> str:
    """Return 16 random hexadecimal digits, by which a writer recognises its own write."""
    return entropy.random_bytes(8).hex()


def new_file_name(clock: Clock, entropy: Entropy) -> str:
    """Return a unique, roughly time-ordered name for an index file or a log entry."""
    return f"{clock.now_us() // 1_000:013d}-{new_nonce(entropy)}"


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
