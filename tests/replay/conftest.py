"""Stores to replay cases in, over a directory and in this process."""

from collections.abc import Callable
from pathlib import Path

import pytest

from s3_agent_memory.bootstrap import MemoryStore
from tests.unit.service.worlds import World

Open = Callable[[], MemoryStore]


@pytest.fixture(params=["memory", "file"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Return what opens one store again and again, each time as another process would, without caches."""
    url = f"file://{tmp_path}/store" if request.param == "file" else f"memory://{tmp_path}"
    return lambda: MemoryStore.from_url(url)


@pytest.fixture
def store(open_store: Open) -> MemoryStore:
    """An empty store."""
    return open_store()


@pytest.fixture
def world() -> World:
    """An empty store with a settable clock and scripted faults."""
    return World()
