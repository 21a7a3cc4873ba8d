"""Names on both sides: namespaces and keys of LangGraph as namespaces and ids of memories, and back.

A label of LangGraph holds any character but a period, a segment of a memory's namespace only plain ones and the period.
So a label that is a segment already stays as it is, and any other becomes one that holds a period:
``"user:7"`` is stored as ``x.user.3A7``, and a label beyond ASCII as ``b.`` and its Base64, which is shorter there.
"""

import base64
import binascii
import hashlib
import re
from typing import Final
from urllib.parse import quote, unquote

from langgraph.store.base import InvalidNamespaceError

from s3_agent_memory.domain.ids import check_id
from s3_agent_memory.domain.json_values import encode_json
from s3_agent_memory.domain.keys import Namespace, parse_namespace
from s3_agent_memory.errors import ValidationError

Labels = tuple[str, ...]

_QUOTED: Final = "x."
_BASE64: Final = "b."
_HASHED: Final = re.compile(r"sha256-[0-9a-f]{64}")


def namespace_of(labels: Labels) -> Namespace:
    """Return where the items of a LangGraph namespace are stored; different namespaces never share a place.

    Raises:
        InvalidNamespaceError: the labels, once encoded, are more or longer than a namespace may be; or are no Unicode.

    Example:
        >>> namespace_of(("users", "user:7"))
        ('users', 'x.user.3A7')
    """
    try:
        return parse_namespace(tuple(_segment_of(label) for label in labels))
    except (ValidationError, UnicodeEncodeError) as error:
        raise InvalidNamespaceError(
            f"The namespace {labels!r} cannot be stored: it must have 1 to 8 labels of valid Unicode, each at most 128 "
            "characters and all together 240; a character other than A-Z a-z 0-9 _ @ + - counts as three to six"
        ) from error


def labels_of(namespace: Namespace) -> Labels | None:
    """Return the LangGraph namespace that is stored at ``namespace``; None if that is one LangGraph cannot name."""
    labels = tuple(_label_of(segment) for segment in namespace)
    if any(label is None for label in labels):
        return None
    return tuple(label for label in labels if label is not None)


def id_of(key: str) -> str:
    """Return the id under which the item of a key is stored: the key itself if it may be one, else a hash of it.

    Raises:
        ValidationError: the key is no valid Unicode.
    """
    try:
        if not _HASHED.fullmatch(key):
            return check_id(key)
    except ValidationError:
        pass
    return f"sha256-{hashlib.sha256(encode_json(key)).hexdigest()}"


def _segment_of(label: str) -> str:
    if _is_segment(label):
        return label
    if label.isascii():
        return _QUOTED + quote(label, safe="@+").replace("~", "%7E").replace("%", ".")
    return _BASE64 + base64.urlsafe_b64encode(label.encode()).decode().rstrip("=")


def _is_segment(label: str) -> bool:
    if "." in label:
        return False
    try:
        parse_namespace((label,))
    except ValidationError:
        return False
    return True


def _label_of(segment: str) -> str | None:
    if "." not in segment:
        return segment
    label = _decoded(segment)
    # Somebody else may have a namespace that only looks encoded.
    return label if label and "." not in label and _segment_of(label) == segment else None


def _decoded(segment: str) -> str | None:
    body = segment[len(_QUOTED) :]
    try:
        if segment.startswith(_QUOTED):
            return unquote(body.replace(".", "%"), errors="strict")
        if segment.startswith(_BASE64):
            return base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        pass
    return None
