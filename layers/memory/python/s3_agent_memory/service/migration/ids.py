"""Ids of migrated memories: the same content gives the same id, so a file that is read twice is stored once."""

from hashlib import sha256
from typing import Final

from s3_agent_memory.domain.json_values import encode_json

_DIGITS: Final = 32


def id_of(system: str, *parts: str) -> str:
    """Return an id made of what identifies a memory in its system.

    Raises:
        ValidationError: a part is not valid Unicode.

    Example:
        >>> id_of("mcp", "entity", "Alice", "likes tea")[:8]
        'mcp-c03b'
    """
    return f"{system}-{sha256(encode_json(list(parts))).hexdigest()[:_DIGITS]}"
