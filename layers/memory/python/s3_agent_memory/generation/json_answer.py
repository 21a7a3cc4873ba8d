"""Asking for JSON in words, and reading the JSON object out of what a model answered."""

import json
import re
from collections.abc import Mapping
from typing import Any

from s3_agent_memory.errors import UnusableAnswerError

# Models that were not held to a format like to put their JSON into a block of Markdown.
_FENCED = re.compile(r"\A\s*```[a-z]*\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)


def ask_for_json(system: str, schema: Mapping[str, Any]) -> str:
    """Return the system prompt with the wish for a JSON object, for a model that cannot be held to a schema."""
    return f"{system}\n\nAnswer with one JSON object and nothing else. Its JSON schema is:\n{json.dumps(schema)}"


def parse_json_object(text: str) -> dict[str, Any]:
    """Return the JSON object that an answer consists of.

    Raises:
        UnusableAnswerError: it is no JSON, is cut, or is not an object.
    """
    fenced = _FENCED.match(text)
    try:
        document = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError) as error:
        # No word of the answer: it may repeat memory text.
        raise UnusableAnswerError(f"the model answered with {len(text)} characters that are no JSON") from error
    if not isinstance(document, dict):
        raise UnusableAnswerError(f"the model answered with a JSON {type(document).__name__} instead of an object")
    return document
