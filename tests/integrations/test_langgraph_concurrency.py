"""A batch does its reads and its writes at once, and the asynchronous side leaves the event loop free."""

import asyncio
import threading
from collections.abc import Callable

from langgraph.store.base import GetOp, PutOp

from s3_agent_memory.bootstrap import Parts, Settings
from s3_agent_memory.langgraph_store import S3Store
from s3_agent_memory.storage.in_memory import InMemoryObjectStore
from s3_agent_memory.storage.port import StoredObject
from tests.fakes.clock import FakeClock
from tests.integrations.langgraph_worlds import ALICE

# Far longer than anything here takes; a test that would hang fails instead.
PATIENCE_SECONDS = 30


class WaitingObjectStore(InMemoryObjectStore):
    """An object store that, once told to, has the reads of items wait for something."""

    def __init__(self) -> None:
        super().__init__(FakeClock())
        self.wait: Callable[[], object] | None = None

    def get(self, key: str, **options: object) -> StoredObject | None:
        if self.wait is not None and "/semantic/" in key:
            self.wait()
        return super().get(key, **options)  # type: ignore[arg-type]


def open_store(objects: WaitingObjectStore) -> S3Store:
    return S3Store(Parts(Settings(url="memory://"), store=objects).memories)


def test_a_batch_reads_its_items_at_once() -> None:
    objects = WaitingObjectStore()
    store = open_store(objects)
    store.batch([PutOp(ALICE, key, {"of": key}) for key in "abcd"])
    meeting = threading.Barrier(4)
    objects.wait = lambda: meeting.wait(PATIENCE_SECONDS)
    items = store.batch([GetOp(ALICE, key) for key in "abcd"])
    assert [item.value["of"] for item in items] == list("abcd")  # type: ignore[union-attr]


def test_the_event_loop_goes_on_while_an_item_is_read() -> None:
    objects = WaitingObjectStore()
    store = open_store(objects)
    store.put(ALICE, "a", {"x": 1})
    released = threading.Event()
    answers: list[bool] = []
    objects.wait = lambda: answers.append(released.wait(PATIENCE_SECONDS))

    async def release() -> None:
        released.set()

    async def read_and_release() -> None:
        await asyncio.gather(store.aget(ALICE, "a"), release())

    asyncio.run(read_and_release())
    assert answers == [True]
