"""Every schema that a client sees is one that every client understands: one bad schema can drop all tools silently."""

import json
import re
from typing import Any

import pytest

from s3_agent_memory.edge.mcp.server import describe_tools

TOOLS: Any = describe_tools()
# What clients in the field stumble over, or cannot express for their models.
FORBIDDEN = {"anyOf", "oneOf", "allOf", "not", "$ref", "$defs", "definitions", "nullable", "const", "if", "then"}
PLAIN_TYPES = {"string", "integer", "number", "boolean", "array", "object"}


def schemas(schema, path="$"):
    """Yield every schema inside a schema, with its path."""
    yield path, schema
    for name, value in schema.get("properties", {}).items():
        yield from schemas(value, f"{path}.{name}")
    if "items" in schema:
        yield from schemas(schema["items"], f"{path}[]")


def every_schema():
    for name, tool in TOOLS.items():
        for kind, schema in (("input", tool.input_schema), ("output", tool.output_schema)):
            yield from ((f"{name} {kind} {path}", found) for path, found in schemas(schema))


@pytest.mark.parametrize(("path", "schema"), list(every_schema()))
def test_a_schema_is_plain(path, schema):
    assert not FORBIDDEN & set(schema)
    assert schema["type"] in PLAIN_TYPES
    assert all(isinstance(name, str) for name in schema.get("required", []))
    assert None not in schema.get("enum", [])
    assert schema.get("default", "") is not None


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_takes_and_gives_an_object(name):
    for schema in (TOOLS[name].input_schema, TOOLS[name].output_schema):
        assert schema["type"] == "object"
        assert set(schema["required"]) <= set(schema["properties"])
    assert TOOLS[name].input_schema["additionalProperties"] is False


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_has_all_that_clients_show(name):
    tool = TOOLS[name]
    assert re.fullmatch("[a-z_]{1,32}", tool.name)
    assert tool.title
    assert 20 < len(tool.description) < 400
    hints = tool.annotations.model_dump(exclude_none=True)
    assert set(hints) == {"title", "read_only_hint", "destructive_hint", "idempotent_hint", "open_world_hint"}


@pytest.mark.parametrize("name", TOOLS)
def test_every_argument_says_what_it_is(name):
    missing = [field for field, schema in TOOLS[name].input_schema["properties"].items() if not schema["description"]]
    assert not missing


def test_the_hints_say_what_a_tool_does():
    hints = {name: tool.annotations for name, tool in TOOLS.items()}
    assert {name for name, hint in hints.items() if hint.read_only_hint} == {"recall", "list", "get"}
    assert {name for name, hint in hints.items() if hint.destructive_hint} == {"update", "forget"}
    assert {name for name, hint in hints.items() if hint.idempotent_hint} == {"recall", "list", "get", "forget"}


def test_no_argument_chooses_a_namespace_or_an_identity():
    names = {name for tool in TOOLS.values() for name in tool.input_schema["properties"]}
    assert not {name for name in names if re.search("namespace|user|tenant|principal|prefix|bucket|key", name)}


def test_what_a_model_reads_of_all_tools_takes_little_of_its_context():
    documents = [tool.model_dump(include={"name", "description", "input_schema"}) for tool in TOOLS.values()]
    assert len(json.dumps(documents)) < 5_000
