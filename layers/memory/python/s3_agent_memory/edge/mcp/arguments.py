"""Arguments of the MCP tools: checked, and described by the plainest JSON schemas there are.

Clients stumble over null types, unions and references in a schema, and one bad schema can make them drop every tool.
So an optional argument is simply absent. A model may all the same send null for it, which counts as absent, or a number
as text. No tool has an argument that chooses a namespace or an identity: both come with the connection.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic import ValidationError as ShapeError

from s3_agent_memory.errors import ValidationError

LIMIT_MAX: Final = 25
RECALL_LIMIT_DEFAULT: Final = 5
LIST_LIMIT_DEFAULT: Final = 10

KindName = Literal["semantic", "episodic", "procedural"]
Clearable = Literal["source", "tags", "expiry", "valid_to"]

_KINDS: Final = "semantic: a fact; episodic: an event; procedural: an instruction or preference."


class Arguments(BaseModel):
    """Arguments of a tool; unknown ones are refused, because a misspelt filter must not widen a search."""

    # The input is left out of errors because it is memory text.
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    def given(self) -> dict[str, Any]:
        """Return the arguments that were sent."""
        return self.model_dump(exclude_unset=True)


Id = Annotated[str, Field(description="Id of the memory, as `recall` and `list` show it.")]
# A factory leaves no default in the schema: an absent argument means "all" or "unchanged", not an empty value.
Kind = Annotated[KindName, Field(default_factory=str, description="Only memories of this kind.")]
Importance = Annotated[
    float, Field(default_factory=float, ge=0, le=1, description="How much it matters, from 0 to 1; 0.5 is usual.")
]
TtlDays = Annotated[float, Field(default_factory=float, gt=0, description="Days from now until it expires.")]
Source = Annotated[str, Field(default_factory=str, description="Where it comes from, such as `chat:42` or a URL.")]


AsOf = Annotated[
    str, Field(default_factory=str, description="What was true at this time (RFC 3339), instead of what is true now.")
]


class RememberArguments(Arguments):
    """Arguments of ``remember``."""

    content: str = Field(description="What to remember: one self-contained statement, at most 16 KiB.")
    kind: KindName = Field(default="semantic", description=_KINDS)
    tags: list[str] = Field(default_factory=list, description="Short labels to filter by, at most 32.")
    importance: Importance
    ttl_days: TtlDays
    source: Source


class RecallArguments(Arguments):
    """Arguments of ``recall``."""

    query: str = Field(description="What to look for, in plain words; empty ranks by recency and importance.")
    kind: Kind
    tags: list[str] = Field(default_factory=list, description="Only memories that have all of these tags.")
    as_of: AsOf
    limit: int = Field(default=RECALL_LIMIT_DEFAULT, ge=1, le=LIMIT_MAX, description="At most so many memories.")


class ListArguments(Arguments):
    """Arguments of ``list``."""

    kind: Kind
    tag: str = Field(default_factory=str, description="Only memories with this tag.")
    limit: int = Field(default=LIST_LIMIT_DEFAULT, ge=1, le=LIMIT_MAX, description="At most so many memories.")
    cursor: str = Field(default_factory=str, description="`next_cursor` of the page before, to go on.")


class GetArguments(Arguments):
    """Arguments of ``get``."""

    id: Id
    offset: int = Field(default=0, ge=0, description="First character of the content to return.")


class UpdateArguments(Arguments):
    """Arguments of ``update``."""

    id: Id
    content: str = Field(default_factory=str, description="The new text.")
    tags: list[str] = Field(default_factory=list, description="Replace all tags.")
    importance: Importance
    ttl_days: TtlDays
    source: Source
    valid_from: str = Field(default_factory=str, description="Since when it is true (RFC 3339).")
    valid_to: str = Field(default_factory=str, description="No longer true from this time on (RFC 3339).")
    clear: list[Clearable] = Field(default_factory=list, description="Fields to empty.")
    supersede: bool = Field(
        default=False,
        description="The fact itself changed: store `content` as a new memory that is true from now on (or from "
        "`valid_from`), and keep the old one for `recall` with `as_of`. Returns the new id.",
    )
    expected_version: int = Field(default_factory=int, ge=1, description="Refuse unless this is the present version.")


class ForgetArguments(Arguments):
    """Arguments of ``forget``."""

    id: Id
    reason: str = Field(default_factory=str, description="Why; kept without the content.")


_A = TypeVar("_A", bound=Arguments)


def parse_arguments(model: type[_A], arguments: Mapping[str, Any]) -> _A:
    """Return the checked arguments of a call.

    Raises:
        ValidationError: one is missing, unknown or of the wrong type; the message names each and what is allowed.
    """
    try:
        return model.model_validate({name: value for name, value in arguments.items() if value is not None})
    except ShapeError as error:
        found = "; ".join(_describe(item["loc"], item["msg"], item["type"]) for item in error.errors())
        raise ValidationError(f"{found}. The arguments are: {', '.join(model.model_fields)}") from None


def _describe(location: tuple[int | str, ...], message: str, kind: str) -> str:
    # The name of an unknown argument is the client's own text, which may be long and need not be Unicode.
    name = ".".join(str(step) for step in location)[:100].encode("utf-8", "backslashreplace").decode()
    return f"{name}: {'no such argument' if kind == 'extra_forbidden' else message}"


def input_schema(model: type[Arguments]) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments, without the titles that say nothing but the names again."""
    schema = model.model_json_schema()
    properties = {name: _without_title(value) for name, value in schema["properties"].items()}
    return {
        "type": "object",
        "properties": properties,
        "required": schema.get("required", []),
        "additionalProperties": False,
    }


def _without_title(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != "title"}
