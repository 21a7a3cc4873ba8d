"""Times are UTC with Z whatever zone the machine is in; days are cut where the caller cuts them."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.unit.service.worlds import NAMESPACE, World

ZONES = ["Asia/Tokyo", "America/Los_Angeles", "Australia/Lord_Howe", "UTC"]
SCRIPT = """
import json, sys
from datetime import datetime
from s3_agent_memory import MemoryStore
from s3_agent_memory.domain.codec import memory_to_json

store = MemoryStore.from_url("memory://")
for expires_at in ("2099-03-01T00:00:00", datetime(2099, 3, 1), "2099-03-01T09:00:00+09:00", "2099-03-01T00:00:00Z"):
    store.remember("n", "text", expires_at=expires_at)
day = {"expires_at": {"$gte": "2099-03-01T00:00:00Z", "$lt": "2099-03-02T00:00:00Z"}}
memories = store.list("n", filter=day).memories
json.dump([memory_to_json(memory) for memory in memories], sys.stdout)
"""


def stored_in(zone: str) -> list[dict[str, Any]]:
    """Return what a process in a time zone stores."""
    environment = {**os.environ, "TZ": zone}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, check=True, text=True)
    documents: list[dict[str, Any]] = json.loads(done.stdout)
    return documents


@pytest.mark.parametrize("zone", ZONES)
def test_a_machine_in_any_zone_stores_the_same_moments(zone: str) -> None:
    assert [document["expires_at"] for document in stored_in(zone)] == ["2099-03-01T00:00:00.000000Z"] * 4


@pytest.mark.parametrize("zone", ZONES[:2])
def test_a_machine_in_any_zone_writes_utc_with_z(zone: str) -> None:
    created = {document["created_at"] for document in stored_in(zone)}
    assert all(text.endswith("Z") and len(text) == len("2026-10-23T23:37:41.624370Z") for text in created)


@pytest.mark.parametrize(
    ("start", "end", "names"),
    [
        ("2026-10-24T00:00:00Z", "2026-10-25T00:00:00Z", {"first of the 24th", "last of the 24th"}),
        ("2026-10-23T00:00:00Z", "2026-10-24T00:00:00Z", {"last of the 23rd"}),
        # The 24th in Tokyo began at 15:00 of the 23rd.
        ("2026-10-24T00:00:00+09:00", "2026-10-25T00:00:00+09:00", {"last of the 23rd", "first of the 24th"}),
        ("2026-10-24T00:00:00-07:00", "2026-10-25T00:00:00-07:00", {"last of the 24th", "first of the 25th"}),
        ("2026-10-24", "2026-10-25", {"first of the 24th", "last of the 24th"}),
    ],
)
@pytest.mark.parametrize("is_folded", [False, True])
def test_a_day_is_cut_where_the_filter_says(start: str, end: str, names: set[str], is_folded: bool) -> None:
    world = World()
    lines = [
        ("last of the 23rd", "2026-10-23T23:59:59.999999Z"),
        ("first of the 24th", "2026-10-24T00:00:00Z"),
        ("last of the 24th", "2026-10-24T16:59:59.999999-07:00"),
        ("first of the 25th", "2026-10-25T00:00:00"),
    ]
    world.memories.import_(NAMESPACE, [json.dumps({"content": name, "created_at": at}) for name, at in lines])
    if is_folded:
        world.fold()
    page = world.memories.list(NAMESPACE, filter={"created_at": {"$gte": start, "$lt": end}})
    assert {memory.content for memory in page.memories} == names
