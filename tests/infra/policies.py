"""A small evaluator of IAM policies: enough for the statements of this stack, and it refuses what it does not know."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

BUCKET = "arn:aws:s3:::bucket"


@dataclass(frozen=True, slots=True)
class Call:
    """A request as IAM sees it: action, resource, and the keys that conditions may ask for."""

    action: str
    resource: str
    context: Mapping[str, str]

    @property
    def key(self) -> str:
        """Of the object."""
        return self.resource.removeprefix(f"{BUCKET}/")


def is_allowed(call: Call, statements: Iterable[Mapping[str, Any]]) -> bool:
    """Return True if a statement allows the call and none denies it."""
    fitting = [item for item in statements if _fits(call, item)]
    return any(item["Effect"] == "Allow" for item in fitting) and not is_denied(call, fitting)


def is_denied(call: Call, statements: Iterable[Mapping[str, Any]]) -> bool:
    """Return True if a statement denies the call."""
    return any(item["Effect"] == "Deny" and _fits(call, item) for item in statements)


def matches(pattern: str, value: str) -> bool:
    """Return True if a pattern of IAM, in which ``*`` is anything, matches."""
    return re.fullmatch(".*".join(re.escape(part) for part in pattern.split("*")), value) is not None


def _fits(call: Call, statement: Mapping[str, Any]) -> bool:
    return (
        any(matches(action, call.action) for action in _listed(statement["Action"]))
        and any(matches(resource, call.resource) for resource in _listed(statement["Resource"]))
        and all(
            _holds(operator, key, _listed(values), call.context)
            for operator, tests in statement.get("Condition", {}).items()
            for key, values in tests.items()
        )
    )


def _holds(operator: str, key: str, values: list[str], context: Mapping[str, str]) -> bool:
    found = context.get(key)
    if operator == "Null":
        return values == [str(found is None).lower()]
    if found is None:
        return operator.endswith("IfExists")
    if operator == "NumericLessThan":
        return any(float(found) < float(value) for value in values)
    if operator in {"Bool", "StringLike", "StringLikeIfExists", "StringEquals"}:
        return any(matches(value, found) for value in values)
    raise AssertionError(f"the evaluator does not know the operator {operator}")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
