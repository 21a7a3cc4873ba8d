"""Which memories a read may return, decided in plain Python straight from the rules for filters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Memory

_ORDERS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$gt": lambda left, right: left > right,
    "$gte": lambda left, right: left >= right,
    "$lt": lambda left, right: left < right,
    "$lte": lambda left, right: left <= right,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The arguments of a read that narrow it down."""

    kind: Kind | None = None
    tags: tuple[str, ...] = ()
    filter: Mapping[str, Any] = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of the read."""
        return {"kind": self.kind, "tags": self.tags, "filter": self.filter}

    def includes(self, memory: Memory) -> bool:
        """Return True if the memory satisfies everything."""
        return self.includes_before_ranking(memory) and all(
            holds(memory, name, operator, value) for name, operator, value in self._conditions()
        )

    def includes_before_ranking(self, memory: Memory) -> bool:
        """Return True if the memory satisfies kind, tags and what must be equal: what narrows down before ranking.

        Null has no list in the index, and an importance is known to it with 32 bits only.
        """
        is_kind = self.kind is None or memory.kind is self.kind
        is_equal = all(
            holds(memory, name, operator, value)
            for name, operator, value in self._conditions()
            if operator == "$eq" and value is not None and name != "importance"
        )
        return is_kind and set(self.tags) <= set(memory.tags) and is_equal

    def _conditions(self) -> list[tuple[str, str, Any]]:
        found: list[tuple[str, str, Any]] = []
        for name, wanted in self.filter.items():
            is_comparison = isinstance(wanted, dict) and wanted and all(key.startswith("$") for key in wanted)
            pairs = wanted.items() if is_comparison else [("$eq", wanted)]
            found += [(name, operator, value) for operator, value in pairs]
        return found


def holds(memory: Memory, name: str, operator: str, wanted: Any) -> bool:
    """Return True if one condition holds."""
    if name == "tags":
        return (wanted in memory.tags) == (operator == "$eq")
    present = _value(memory, name)
    if name.endswith("_at") and isinstance(wanted, str):
        wanted = datetime.fromisoformat(wanted)
    if operator in ("$eq", "$ne"):
        return (_typed(present) == _typed(wanted)) == (operator == "$eq")
    is_comparable = _type_of(present) == _type_of(wanted) and _type_of(present) in ("number", "text", "moment")
    return is_comparable and _ORDERS[operator](present, wanted)


def _value(memory: Memory, name: str) -> Any:
    first, *steps = name.split(".")
    value = getattr(memory, first) if hasattr(memory, first) else getattr(memory.attribution, first)
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _type_of(value: Any) -> str:
    names = {bool: "bool", int: "number", float: "number", datetime: "moment", list: "list", dict: "object"}
    return "null" if value is None else names.get(type(value), "text")


def _typed(value: Any) -> Any:
    """Return a value that equals another one's iff both are the same JSON value."""
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return _type_of(value), value
