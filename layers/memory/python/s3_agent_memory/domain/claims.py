"""From the claims of an access token to a namespace, so that two different people can never meet in one.

A claim may be any text (``auth0|abc``, an e-mail, a URL); a segment of a namespace may not. The encoding is injective
and keeps what is safe as it is. A segment has one of three forms, which cannot be mistaken for each other:

- the value itself, with every byte that is not allowed as ``+HH``, and ``+`` too (``auth0|abc`` -> ``auth0+7Cabc``);
- ``x++HH...`` if the first character is not allowed at the beginning, or the value is a reserved name;
- ``h++`` and the SHA-256 of the value, if the others would be too long.

In the first form ``+`` is always followed by two hexadecimal digits, so ``++`` marks the other two.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from s3_agent_memory.domain.keys import Namespace, parse_namespace
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.errors import ValidationError

CLAIM_LENGTH_MAX: Final = 2_048
# Three claims and a few words around them still make a namespace of at most 240 characters.
_ENCODED_LENGTH_MAX: Final = 72
_SAFE: Final = re.compile(rb"[A-Za-z0-9._@-]")
_PLACEHOLDER: Final = re.compile(r"\{([^{}/]+)\}")
_RESERVED: Final = frozenset(kind.value for kind in Kind)


def encode_claim(value: str) -> str:
    """Return the segment of a namespace that stands for a claim, different for every value.

    Raises:
        ValidationError: the value is empty, too long, or no valid Unicode.

    Example:
        >>> encode_claim("alice@example.com"), encode_claim("auth0|abc")
        ('alice@example.com', 'auth0+7Cabc')
    """
    if not value or len(value) > CLAIM_LENGTH_MAX:
        raise ValidationError(f"a claim that names a namespace must have 1 to {CLAIM_LENGTH_MAX} characters")
    try:
        raw = value.encode()
    except UnicodeEncodeError:
        raise ValidationError("a claim that names a namespace must be valid Unicode") from None
    encoded = _escape(raw, is_reserved=value in _RESERVED)
    return encoded if len(encoded) <= _ENCODED_LENGTH_MAX else f"h++{hashlib.sha256(raw).hexdigest()}"


def _escape(raw: bytes, *, is_reserved: bool) -> str:
    escaped = [chr(byte) if _SAFE.match(bytes([byte])) else f"+{byte:02X}" for byte in raw]
    if escaped[-1] == ".":
        escaped[-1] = "+2E"
    if is_reserved or escaped[0] in "._@-":
        escaped[0] = f"+{raw[0]:02X}"
    text = "".join(escaped)
    return f"x+{text}" if text.startswith("+") else text


@dataclass(frozen=True, slots=True)
class NamespaceTemplate:
    """How a namespace is made of claims, such as ``users/{sub}`` or ``tenants/{tenant}/{sub}``.

    Attributes:
        segments: each either text as it is or, in braces, the name of a claim.
    """

    segments: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the template written in ``text``.

        Raises:
            ValidationError: it is no namespace with whole segments replaced by ``{claim}``, or it has no claim, which
                would give everybody the same namespace.
        """
        segments = tuple(text.split("/"))
        if not any(_PLACEHOLDER.fullmatch(segment) for segment in segments):
            raise ValidationError(f"{text!r} names no claim; write a namespace such as 'users/{{sub}}'")
        parse_namespace([_PLACEHOLDER.sub("claim", segment, count=1) for segment in segments])
        if any("{" in segment and not _PLACEHOLDER.fullmatch(segment) for segment in segments):
            raise ValidationError(f"{text!r}: a claim in braces must be a whole segment")
        return cls(segments)

    def fill(self, claims: Mapping[str, object]) -> Namespace:
        """Return the namespace of whoever has these claims.

        Raises:
            ValidationError: a claim is missing or is no text, or the namespace would be too long.
        """
        return parse_namespace([self._segment(segment, claims) for segment in self.segments])

    @staticmethod
    def _segment(segment: str, claims: Mapping[str, object]) -> str:
        placeholder = _PLACEHOLDER.fullmatch(segment)
        if placeholder is None:
            return segment
        value = claims.get(placeholder[1])
        if not isinstance(value, str):
            raise ValidationError(f"the token has no claim {placeholder[1]!r} that is text")
        return encode_claim(value)
