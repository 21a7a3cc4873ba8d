"""A store with one odd object in it: every call ends in an answer or in an error of the library, over each adapter."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import boto3
import pytest
from hypothesis import given
from hypothesis import strategies as st
from moto import mock_aws

from s3_agent_memory.bootstrap import Parts, Settings
from s3_agent_memory.storage.filesystem import FilesystemObjectStore
from s3_agent_memory.storage.in_memory import InMemoryObjectStore
from s3_agent_memory.storage.port import ObjectStore
from s3_agent_memory.storage.s3 import S3ObjectStore
from tests.fakes.clock import FakeClock
from tests.fakes.entropy import SeededEntropy
from tests.fuzz.damage import damaged, encoded, odd_bodies
from tests.fuzz.refusals import refusal

NAMESPACE = "users/alice"
FOLDER = f"memory/{NAMESPACE}"
OBJECTS = {
    "memory": f"{FOLDER}/semantic/chosen.json",
    "tombstone": f"{FOLDER}/_tombstones/forgotten.json",
    "claim": f"{FOLDER}/_ids/chosen",
    "HEAD": f"{FOLDER}/_index/HEAD",
    "segment": f"{FOLDER}/_index/segments/",
    "log entry": f"{FOLDER}/_index/log/",
    "round cursor": "memory/_rounds/sweeper",
}
CALLS: dict[str, Callable[[Parts], object]] = {
    "recall": lambda parts: parts.memories.recall(NAMESPACE, "metric units"),
    "list": lambda parts: parts.memories.list(NAMESPACE),
    "get": lambda parts: parts.memories.get(NAMESPACE, "chosen"),
    "stats": lambda parts: parts.memories.stats(NAMESPACE),
    "export": lambda parts: list(parts.memories.export(NAMESPACE)),
    "update": lambda parts: parts.memories.update(NAMESPACE, "chosen", importance=0.1),
    "remember": lambda parts: parts.memories.remember(NAMESPACE, "text", id="chosen"),
    "forget": lambda parts: parts.memories.forget(NAMESPACE, "forgotten"),
    "fold": lambda parts: parts.services.housekeeper.tidy(("users", "alice")),  # type: ignore[arg-type]
    "prune": lambda parts: parts.memories.prune_expired(NAMESPACE),
    "sweep": lambda parts: parts.memories.sweep(NAMESPACE),
    "reindex": lambda parts: parts.memories.reindex(NAMESPACE),
    "round": lambda parts: parts.sweeping.run(lambda: 60_000),
    "recall again": lambda parts: parts.memories.recall(NAMESPACE, "metric units"),
}


def opened(store: ObjectStore, clock: FakeClock, seed: int = 0) -> Parts:
    return Parts(Settings(url="memory://"), store=store, clock=clock, entropy=SeededEntropy(seed))


def fill(store: ObjectStore, clock: FakeClock) -> None:
    parts = opened(store, clock)
    parts.memories.remember(NAMESPACE, "metric units", id="chosen", tags=["red"], ttl=86_400)
    parts.memories.remember(NAMESPACE, "metric units", id="forgotten")
    parts.memories.forget(NAMESPACE, "forgotten")
    parts.memories.sweep(NAMESPACE)
    store.put(OBJECTS["round cursor"], b'{"schema":1,"after":"memory/_namespaces/a"}')
    parts.memories.remember(NAMESPACE, "metric units in the log")
    clock.advance(120)


@cache
def intact_bodies() -> dict[str, bytes]:
    """Return what lies under each key of a filled store; keys of a store in memory are the same at each run."""
    clock = FakeClock()
    store = InMemoryObjectStore(clock)
    fill(store, clock)
    found = {item.key: store.get(item.key, size_max=2**20) for item in store.list_page("").objects}
    return {key: body.body for key, body in found.items() if body is not None}


def intact_body(name: str) -> bytes:
    return next(body for key, body in sorted(intact_bodies().items()) if key.startswith(OBJECTS[name]))


def run_with_odd_object(store: ObjectStore, clock: FakeClock, name: str, body: bytes) -> None:
    fill(store, clock)
    key = next(item.key for item in store.list_page(OBJECTS[name]).objects)
    store.put(key, body)
    call_everything(opened(store, clock, seed=1))


def call_everything(parts: Parts) -> None:
    for call in CALLS.values():
        refusal(partial(call, parts))


@pytest.mark.parametrize("name", OBJECTS)
@given(data=st.data())
def test_a_store_in_memory_with_an_odd_object_fails_cleanly(name: str, data: st.DataObject) -> None:
    body = intact_body(name)
    clock = FakeClock()
    odd = data.draw(damaged(body) if name == "segment" else odd_bodies(body))
    run_with_odd_object(InMemoryObjectStore(clock), clock, name, odd)


@pytest.fixture(params=["directory", "bucket"])
def keyed_store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ObjectStore]:
    """A store of each kind that makes something else of a key."""
    if request.param == "directory":
        yield FilesystemObjectStore(tmp_path / "objects", clock=FakeClock(), entropy=SeededEntropy())
        return
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with mock_aws():
        boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="fuzz")
        yield S3ObjectStore("fuzz", region="us-east-1")


def head_with(name: str) -> bytes:
    head = {
        "schema": 1,
        "version": 3,
        "nonce": "n",
        "analyzer": "english/1",
        "folds": [[name, 1]],
        "trash": [[name, 1]],
    }
    return encoded({**head, "segments": [[name, 1, 1]]})


@pytest.mark.parametrize("name", ["", "../../x", "a/../b", "\0", "\ud800", "é", "x" * 5_000, "~", ".", "a b"])
def test_odd_names_inside_the_index_fail_cleanly_whatever_the_store_makes_of_them(
    keyed_store: ObjectStore, name: str
) -> None:
    clock = FakeClock()
    fill(keyed_store, clock)
    for key, body in ((OBJECTS["HEAD"], head_with(name)), (OBJECTS["round cursor"], encoded({"after": name}))):
        keyed_store.put(key, body)
        call_everything(opened(keyed_store, clock, seed=1))


INDEX_CALLS = ("recall", "list", "stats", "sweep", "reindex", "recall again")


@pytest.mark.parametrize("body", [b"", b"{}", b"\xff", b'{"schema":1,"segments":[["../x",1,1]]}', b"[" * 100_000])
@pytest.mark.parametrize("call", INDEX_CALLS)
def test_an_unreadable_manifest_is_rebuilt_by_whoever_comes_first(call: str, body: bytes) -> None:
    clock = FakeClock()
    store = InMemoryObjectStore(clock)
    fill(store, clock)
    store.put(OBJECTS["HEAD"], body)
    CALLS[call](opened(store, clock, seed=1))
    hits = opened(store, clock, seed=2).memories.recall(NAMESPACE, "metric units")
    assert len(hits) == 2
