"""LangGraph's in-memory store and ours side by side, by the synchronous and by the asynchronous side."""

from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.langgraph_store import S3Store
from tests.contract.langgraph_store.agreement import Agree, Awaiting, Scenario


@pytest.fixture(params=["batch", "abatch"])
def agree(request: pytest.FixtureRequest) -> Agree:
    """Return what runs a scenario on both stores, checks that they agree, and returns what they say."""

    def run(scenario: Scenario) -> Any:
        stores = InMemoryStore(), S3Store(MemoryStore.from_url("memory://"))
        expected, found = (scenario(Awaiting(store) if request.param == "abatch" else store) for store in stores)
        assert found == expected
        return found

    return run
