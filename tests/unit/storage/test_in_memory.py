"""What is peculiar to the adapter in memory."""

from s3_agent_memory.domain.clock import SystemClock
from s3_agent_memory.storage.in_memory import InMemoryObjectStore


def test_a_page_has_at_most_a_thousand_keys() -> None:
    store = InMemoryObjectStore(SystemClock())
    for number in range(1_001):
        store.put(f"{number:04}", b"")
    page = store.list_page("", limit=5_000)
    assert (len(page.objects), page.is_last) == (1_000, False)


def test_equal_bytes_have_equal_etags() -> None:
    store = InMemoryObjectStore(SystemClock())
    assert store.put("a", b"same") == store.put("b", b"same")
