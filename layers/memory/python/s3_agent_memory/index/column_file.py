"""A flat file of numeric columns: a JSON directory, then aligned little-endian arrays that are read without a copy.

```
magic (8 bytes) | directory size (uint32) | CRC-32 of the directory (uint32) | directory, padded with spaces
column 0, padded with zeros to a multiple of 64 bytes | column 1 | ...
```

The directory lists each column as ``[name, dtype, count, CRC-32]``; a checksum covers the padding too, so no bit of a
file can change unnoticed.
"""

import struct
import zlib
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from s3_agent_memory.domain.json_values import decode_json, encode_json
from s3_agent_memory.errors import CorruptError, ValidationError

ALIGNMENT_BYTES: Final = 64
_PREFIX: Final = struct.Struct("<8sII")

Column = npt.NDArray[Any]


def encode_columns(magic: bytes, header: Mapping[str, object], columns: Mapping[str, Column]) -> bytes:
    """Return a file of the given columns; ``header`` are further members of its directory."""
    bodies = [
        _padded(column.astype(column.dtype.newbyteorder("<"), copy=False).tobytes()) for column in columns.values()
    ]
    entries = [
        [name, column.dtype.str.lstrip("<|="), len(column), zlib.crc32(body)]
        for (name, column), body in zip(columns.items(), bodies, strict=True)
    ]
    directory = encode_json({**header, "columns": entries})
    directory += b" " * (-(len(directory) + _PREFIX.size) % ALIGNMENT_BYTES)
    prefix = _PREFIX.pack(magic, len(directory), zlib.crc32(directory))
    return b"".join((prefix, directory, *bodies))


def decode_columns(
    body: bytes,
    key: str,
    *,
    magic: bytes,
    dtypes: Mapping[str, tuple[str, ...]],
    optional: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[Mapping[str, object], dict[str, Column]]:
    """Return the directory and the read-only columns of a file, every checksum verified.

    Args:
        key: where the bytes were found.
        dtypes: the columns in their order, each with the types it may have (``("u1", "u2")``).
        optional: columns that may follow, all of them or none.

    Raises:
        CorruptError: the bytes are not such a file, or not all of it.
    """
    directory, offset = _decode_directory(body, key, magic)
    entries = directory.get("columns")
    with_optional = {**dtypes, **(optional or {})}
    if not isinstance(entries, list) or len(entries) not in (len(dtypes), len(with_optional)):
        raise CorruptError(f"{key} has a directory without the expected columns", key=key)
    columns: dict[str, Column] = {}
    for entry, (name, allowed) in zip(entries, with_optional.items(), strict=False):
        dtype, count, checksum = _check_entry(entry, key, name=name, allowed=allowed)
        end = offset + count * dtype.itemsize
        padded_end = end + -end % ALIGNMENT_BYTES
        if padded_end > len(body) or zlib.crc32(memoryview(body)[offset:padded_end]) != checksum:
            raise CorruptError(f"{key} is damaged in column {name}", key=key)
        columns[name] = np.frombuffer(body, dtype, count, offset)
        offset = padded_end
    if offset != len(body):
        raise CorruptError(f"{key} is {len(body)} bytes long instead of {offset}", key=key)
    return directory, columns


def _decode_directory(body: bytes, key: str, magic: bytes) -> tuple[dict[str, object], int]:
    if len(body) < _PREFIX.size or not body.startswith(magic):
        raise CorruptError(f"{key} is not a file of the expected format", key=key)
    _, size_bytes, checksum = _PREFIX.unpack_from(body)
    end = _PREFIX.size + size_bytes
    encoded = body[_PREFIX.size : end]
    if end > len(body) or end % ALIGNMENT_BYTES or zlib.crc32(encoded) != checksum:
        raise CorruptError(f"{key} is damaged in its directory", key=key)
    try:
        directory = decode_json(encoded)
    except ValidationError as error:
        raise CorruptError(f"{key} has an unreadable directory", key=key) from error
    if not isinstance(directory, dict):
        raise CorruptError(f"{key} has an unreadable directory", key=key)
    return directory, end


def _check_entry(entry: object, key: str, *, name: str, allowed: tuple[str, ...]) -> tuple[np.dtype[Any], int, int]:
    if isinstance(entry, list) and len(entry) == 4:
        found_name, dtype, count, checksum = entry
        is_known = found_name == name and dtype in allowed
        if is_known and _is_count(count) and _is_count(checksum):
            return np.dtype(dtype).newbyteorder("<"), count, checksum
    raise CorruptError(f"{key} does not describe column {name} as expected", key=key)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _padded(body: bytes) -> bytes:
    return body + bytes(-len(body) % ALIGNMENT_BYTES)
