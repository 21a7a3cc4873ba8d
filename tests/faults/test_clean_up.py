"""What is left behind goes away: a clean-up that meets faults is done in the end, and a reader keeps nothing old."""

from collections.abc import Sequence

import pytest

from s3_agent_memory.bootstrap import Parts, Settings
from s3_agent_memory.domain.keys import parse_namespace
from s3_agent_memory.errors import AgentMemoryError, ThrottledError, UnknownOutcomeError
from s3_agent_memory.index.merge_policy import FAN_OUT
from s3_agent_memory.service.grace import LOG_GRACE_MS
from s3_agent_memory.storage.in_memory import InMemoryObjectStore
from s3_agent_memory.storage.s3 import S3ObjectStore
from tests.fakes.clock import FakeClock
from tests.fakes.s3_server import REGION
from tests.faults.conftest import BUCKET
from tests.faults.deck import Deck, Rates
from tests.faults.proxy import running_proxy

NAMESPACE = "tidy"
KEY_COUNT = 10


class _Store(InMemoryObjectStore):
    """A store in which deletions fail while there is an error to fail with."""

    error: AgentMemoryError | None = None

    def delete_many(self, keys: Sequence[str]) -> None:
        super().delete_many(keys[: len(keys) // 2])
        if self.error is not None:
            raise self.error
        super().delete_many(keys)


def test_deletions_that_met_a_fault_are_sent_again(s3_endpoint_url: str) -> None:
    keys = [f"clean-up/{number}" for number in range(KEY_COUNT)]
    deck = Deck(3, Rates(read=0, write=0))
    with running_proxy(s3_endpoint_url, deck) as proxy:
        store = S3ObjectStore(BUCKET, endpoint_url=proxy.url, region=REGION)
        for key in keys:
            store.put(key, b"entry")
        deck.break_down(KEY_COUNT, at_write=True)
        store.delete_many(keys)
        assert deck.counts.total() == KEY_COUNT
        assert store.list_page("clean-up/").objects == ()


@pytest.mark.parametrize("error", [ThrottledError("injected"), UnknownOutcomeError("injected")])
def test_a_clean_up_that_fails_leaves_the_fold_alone_and_is_done_later(error: AgentMemoryError) -> None:
    clock = FakeClock()
    store = _Store(clock=clock)
    parts = Parts(Settings(url="memory://"), store=store, clock=clock)
    place = parse_namespace(NAMESPACE)

    def fold() -> int:
        clock.advance(LOG_GRACE_MS / 1_000 + 1)
        return parts.folder.fold(place).entries_folded

    for word in ("one", "two", "three"):
        parts.memories.remember(NAMESPACE, word)
    assert fold() == 3
    assert fold() == 0, "this one stamps"
    store.error = error
    parts.memories.remember(NAMESPACE, "four")
    assert fold() == 1
    assert len(parts.memories.list(NAMESPACE).memories) == 4
    store.error = None
    fold()
    fold()
    assert parts.memories.stats(NAMESPACE).log_entries == 0


def test_a_reader_keeps_no_segment_that_was_replaced() -> None:
    clock = FakeClock()
    store = InMemoryObjectStore(clock=clock)
    writer, reader = (Parts(Settings(url="memory://"), store=store, clock=clock) for _ in range(2))
    place = parse_namespace(NAMESPACE)
    seen: set[str] = set()
    in_use: frozenset[str] = frozenset()
    for number in range(3 * FAN_OUT):
        writer.memories.remember(NAMESPACE, f"number {number}")
        writer.folder.fold(place)
        writer.compactor.compact(place)
        clock.advance(LOG_GRACE_MS / 1_000 + 1)
        in_use = reader.services.index.view(place).head.manifest.segment_ids
        seen |= in_use
    kept = reader.services.index._cache.segments.find(place, seen)
    assert set(kept) == in_use
    assert len(in_use) < len(seen)
