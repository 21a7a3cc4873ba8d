"""The three kinds of memory."""

from enum import StrEnum

from s3_agent_memory.errors import ValidationError


class Kind(StrEnum):
    """What a memory is about: a fact, an event, or an instruction or preference."""

    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"


def check_kind(value: object) -> Kind:
    """Return the kind named by ``value``.

    Raises:
        ValidationError: there is no such kind.
    """
    try:
        return Kind(str(value))
    except ValueError:
        raise ValidationError("kind must be one of: " + ", ".join(Kind)) from None
