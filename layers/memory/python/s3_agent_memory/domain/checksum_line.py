"""The checksum line: the last line of an export, by which an import knows that it read the file as it was written.

It counts the lines before it, since the beginning or since another checksum line, and holds the SHA-256 of their bytes,
each with one line feed behind it. So a file whose line ends were changed on its way is still whole, and files that were
put together are checked part by part. Its one member is one that no memory has.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from s3_agent_memory.domain.json_values import decode_json, encode_json
from s3_agent_memory.errors import ValidationError

FIELD: Final = "checksum"
_MARK: Final = b'{"' + FIELD.encode() + b'"'
_LINE_BYTES_MAX: Final = 256


class Checked(StrEnum):
    """What checksum lines say about a file: all lines are covered and right, one is wrong, or some are not covered."""

    VERIFIED = "verified"
    MISMATCH = "mismatch"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class ChecksumLine:
    """How many lines came before it, and the SHA-256 of their bytes in hexadecimal digits."""

    line_count: int
    sha256: str

    def encode(self) -> bytes:
        """Return the line, without its end."""
        return encode_json({FIELD: {"lines": self.line_count, "sha256": self.sha256}})


def parse_checksum_line(line: bytes) -> ChecksumLine | None:
    """Return the checksum line that ``line`` is, or None if it is another line.

    Raises:
        ValidationError: it begins like one and is none.

    Example:
        >>> parse_checksum_line(b'{"content": "a memory"}') is None
        True
    """
    stripped = line.strip()
    if not stripped.startswith(_MARK):
        return None
    document = decode_json(stripped) if len(stripped) <= _LINE_BYTES_MAX else None
    value = document.get(FIELD) if isinstance(document, Mapping) else None
    count, digest = (value.get("lines"), value.get("sha256")) if isinstance(value, Mapping) else (None, None)
    if type(count) is not int or not isinstance(digest, str):
        raise ValidationError("the line begins like a checksum line and is none")
    return ChecksumLine(count, digest)


class LineChecksum:
    """Takes in lines one by one and compares them with the checksum lines among them."""

    def __init__(self) -> None:
        self._is_wrong = False
        self._restart()

    def _restart(self) -> None:
        self._hash = hashlib.sha256()
        self._line_count = 0

    def add(self, line: bytes) -> None:
        """Take in a line, without its end; an empty one is nothing."""
        if not line.strip():
            return
        self._hash.update(line)
        self._hash.update(b"\n")
        self._line_count += 1

    def line(self) -> ChecksumLine:
        """Return the checksum line of the lines taken in since the last one."""
        return ChecksumLine(self._line_count, self._hash.hexdigest())

    def compare(self, found: ChecksumLine) -> str | None:
        """Compare a checksum line with the lines before it, and begin anew behind it; say what is wrong, if anything.

        More lines than it counts are no better than fewer.
        """
        expected = self.line()
        self._restart()
        if expected == found:
            return None
        self._is_wrong = True
        if expected.line_count != found.line_count:
            return (
                f"lines were lost or added: here are {expected.line_count}, and the checksum is of {found.line_count}"
            )
        return "lines were changed: their SHA-256 is not that of the checksum line"

    def conclusion(self, *, found_any: bool) -> Checked:
        """Return what is known at the end of the file.

        Args:
            found_any: whether there was a checksum line at all.
        """
        if self._is_wrong:
            return Checked.MISMATCH
        return Checked.VERIFIED if found_any and not self._line_count else Checked.ABSENT


def with_checksum(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines, and behind the last one their checksum line."""
    checksum = LineChecksum()
    for line in lines:
        checksum.add(line.encode())
        yield line
    yield checksum.line().encode().decode()
