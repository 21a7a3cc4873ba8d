"""Memories to test with."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.memory import Memory, check_memory
from s3_agent_memory.domain.timestamps import parse_timestamp

NAMESPACE = Namespace(("users", "alice"))
MOMENT = parse_timestamp("2026-10-23T23:37:41.624370Z", field="moment")
MOMENTS = st.datetimes(
    # Hypothesis takes the bounds without a time zone and adds it.
    min_value=datetime(1970, 1, 1),  # noqa: DTZ001
    max_value=datetime(9999, 12, 31),  # noqa: DTZ001
    timezones=st.just(UTC),
)

PLAIN: Mapping[str, Any] = {
    "id": "01a16b209bf8ad13a72e486e",
    "namespace": NAMESPACE,
    "kind": Kind.SEMANTIC,
    "content": "Alice is vegetarian",
    "created_at": MOMENT,
    "updated_at": MOMENT,
}


def make_memory(**values: Any) -> Memory:
    """Return a checked memory; what is not given is plain."""
    return check_memory(Memory(**{**PLAIN, **values}), Limits())
