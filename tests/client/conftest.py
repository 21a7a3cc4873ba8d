"""A client, the requests it sends, and a server whose answers are laid out."""

from typing import Any

import pytest

from tests.fakes import model_servers
from tests.fakes.clock import FakeClock
from tests.fakes.entropy import SeededEntropy


@pytest.fixture
def server():
    """A server on this machine; ``will`` lays out its answers, ``sent`` are the requests it got."""
    with model_servers.running(model_servers.OpenAi()) as running:
        yield running


@pytest.fixture
def slept():
    """Every wait of the client, in seconds."""
    return []


@pytest.fixture
def make_client(server, slept):
    from s3_agent_memory.client import MemoryServiceClient

    async def sleep(seconds):
        slept.append(seconds)

    def make(url=None, **options):
        fixed: dict[str, Any] = {"token": "am_secret", "clock": FakeClock(), "entropy": SeededEntropy(), "sleep": sleep}
        return MemoryServiceClient(url or server.url, **(fixed | options))

    return make
