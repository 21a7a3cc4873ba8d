"""What of a conversation may become a memory: what users and agents said, without what was put before them.

Turns are data. System prompts, and memories that were recalled into a turn, are not what anybody said: stored, they
would come back at the next recall and be stored once more.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from s3_agent_memory import names
from s3_agent_memory.domain.turns import Turn

# Roles whose turns are written by the application.
_INSTRUCTING_ROLES: Final = frozenset({"system", "developer"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What was said in one turn.

    Attributes:
        turn: that it was said in.
        text: its content without recalled blocks; it has a letter or a digit.
    """

    turn: Turn
    text: str


def spoken_in(turns: Sequence[Turn]) -> list[Spoken]:
    """Return what was said, in order; turns that say nothing are left out."""
    said = (Spoken(turn=turn, text=without_recalled(turn.content)) for turn in turns if not _instructs(turn))
    return [item for item in said if any(character.isalnum() for character in item.text)]


def unspoken_in(turns: Sequence[Turn]) -> list[str]:
    """Return what was put before a model: system prompts, and each recalled memory."""
    prompts = [turn.content for turn in turns if _instructs(turn)]
    recalled = [line for turn in turns for is_recalled, line in _lines(turn.content) if is_recalled]
    return prompts + [line.strip().removeprefix("- ") for line in recalled]


def without_recalled(text: str) -> str:
    r"""Return a text without the blocks of recalled memories in it: a heading and its list.

    Example:
        >>> without_recalled("## Relevant memory\n- Alice is vegan\n\nWhat may I eat?")
        'What may I eat?'
    """
    return "\n".join(line for is_recalled, line in _lines(text) if not is_recalled).strip()


def as_data(turns: Sequence[Spoken]) -> list[dict[str, object]]:
    """Return what was said as JSON values, numbered from 1, in which no text can pass for anything but a text."""
    return [{"turn": number, "role": item.turn.role, "text": item.text} for number, item in enumerate(turns, 1)]


def to_json(value: object) -> str:
    """Return a value as JSON that keeps letters of every script readable."""
    return json.dumps(value, ensure_ascii=False)


def _instructs(turn: Turn) -> bool:
    return turn.role.strip().casefold() in _INSTRUCTING_ROLES


def _lines(text: str) -> Iterator[tuple[bool, str]]:
    """Yield each line, and whether it belongs to a block of recalled memories."""
    is_in_block = has_items = False
    for line in text.splitlines():
        if line.strip() == names.RECALLED_HEADING:
            is_in_block, has_items = True, False
        elif is_in_block and line.startswith("- "):
            has_items = True
        # Blank lines may stand before the list, but not within it; an indented line goes on with an item.
        elif is_in_block and (line[:1].isspace() if has_items else not line.strip()):
            pass
        else:
            is_in_block = False
        yield is_in_block, line
