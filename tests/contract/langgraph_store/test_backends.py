"""The LangGraph store over every storage adapter."""

from langgraph.store.base import PutOp

from s3_agent_memory.bootstrap import Parts, Settings
from s3_agent_memory.langgraph_store import S3Store
from s3_agent_memory.storage.port import ObjectStore


def test_items_live_on_every_storage(store: ObjectStore) -> None:
    def reopened() -> S3Store:
        return S3Store(Parts(Settings(url="memory://"), store=store).memories)

    reopened().batch(
        [
            PutOp(("users", "user:7"), "units", {"text": "metric", "since": None}),
            PutOp(("users", "北京"), "a/b", {"text": "imperial"}),
            PutOp(("users", "user:7"), "gone", {"text": "nothing"}),
        ]
    )
    reopened().delete(("users", "user:7"), "gone")
    reopened().put(("users", "user:7"), "units", {"text": "metric units"})
    last = reopened()
    item = last.get(("users", "user:7"), "units")
    assert item is not None
    assert item.value == {"text": "metric units"}
    assert last.list_namespaces() == [("users", "user:7"), ("users", "北京")]
    assert [item.key for item in last.search(("users",), query="imperial")] == ["a/b", "units"]
