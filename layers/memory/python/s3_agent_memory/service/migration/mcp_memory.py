"""A line of the reference MCP memory server's file as lines of an import.

Each observation of an entity is a memory that begins with the entity's name, so that it says by itself what it is
about; each relation is a sentence. ``data`` keeps the graph: ``{"data.entity": "Alice"}`` is a filter for one node.
"""

from collections.abc import Mapping
from typing import Final

from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.errors import ValidationError
from s3_agent_memory.service.migration.ids import id_of

_SYSTEM: Final = "mcp"
_SOURCE: Final = "mcp-memory"
_TAG_LENGTH_MAX: Final = 128


def mcp_memory_lines(item: object) -> list[Mapping[str, object]]:
    """Return the lines for one entity or relation.

    Raises:
        ValidationError: it is neither.
    """
    if not isinstance(item, Mapping):
        raise ValidationError("a line must be a JSON object")
    if item.get("type") == "entity":
        return _entity(item)
    if item.get("type") == "relation":
        return [_relation(item)]
    raise ValidationError("type must be entity or relation")


def _entity(item: Mapping[str, object]) -> list[Mapping[str, object]]:
    name, entity_type = _text(item, "name"), _text(item, "entityType")
    observations = item.get("observations")
    if not isinstance(observations, list) or not all(isinstance(text, str) for text in observations):
        raise ValidationError("observations must be a list of texts")
    data = {"entity": name, "entity_type": entity_type}
    if not observations:
        return [_line(f"{name} ({entity_type})", data, [entity_type], "entity", name)]
    return [
        _line(f"{name}: {text}", {**data, "observation": text}, [entity_type], "observation", name, text)
        for text in observations
    ]


def _relation(item: Mapping[str, object]) -> Mapping[str, object]:
    source, target, relation = _text(item, "from"), _text(item, "to"), _text(item, "relationType")
    data = {"from": source, "to": target, "relation_type": relation}
    return _line(
        f"{source} {relation.replace('_', ' ')} {target}", data, ["relation"], "relation", source, relation, target
    )


def _line(content: str, data: Mapping[str, object], tags: list[str], *identity: str) -> Mapping[str, object]:
    usable = [tag.strip() for tag in tags if tag.strip() and len(tag.strip()) <= _TAG_LENGTH_MAX]
    return {
        "id": id_of(_SYSTEM, *identity),
        "kind": Kind.SEMANTIC.value,
        "content": content,
        "source": _SOURCE,
        "tags": usable,
        "data": data,
    }


def _text(item: Mapping[str, object], name: str) -> str:
    value = item.get(name)
    if not isinstance(value, str) or not value.strip():
        raise ValidationError(f"{name} must be a text")
    return value
