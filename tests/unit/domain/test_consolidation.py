"""Records of consolidations, and the memory that several become."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from s3_agent_memory.domain.consolidation import (
    ConsolidationRun,
    Merge,
    MergeState,
    RunState,
    decode_run,
    encode_run,
    may_merge,
    merge_key,
    merged_id,
    merged_memory,
)
from s3_agent_memory.domain.keys import consolidation_key, parse_namespace, parse_segment_key, parse_truth_key
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.memory import Attribution, Memory
from s3_agent_memory.domain.validity import MemoryVersion
from s3_agent_memory.errors import CorruptError, LimitExceededError, ValidationError

NOW = datetime(2026, 11, 30, tzinfo=UTC)
PLACE = parse_namespace("users/alice")
MERGE = Merge(
    id="merged-1", kind=Kind.SEMANTIC, originals=(MemoryVersion("a", 1), MemoryVersion("b", 3)), words=0.5, meaning=0.9
)
RUN = ConsolidationRun(
    id="1",
    state=RunState.RUNNING,
    kind=None,
    threshold=0.5,
    summariser="longest",
    started_at=NOW,
    settle_at=NOW + timedelta(days=7),
    merges=(MERGE, replace(MERGE, id="merged-2", meaning=None, state=MergeState.SKIPPED, why="changed")),
)


def memory(memory_id: str, **fields: object) -> Memory:
    plain = Memory(
        id=memory_id,
        namespace=PLACE,
        kind=Kind.SEMANTIC,
        content="Alice likes tea",
        created_at=NOW,
        updated_at=NOW,
    )
    return replace(plain, **fields)  # type: ignore[arg-type]


def test_a_run_is_read_as_it_was_written() -> None:
    assert decode_run(encode_run(RUN), "key") == RUN


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[]", b"\xff", encode_run(RUN)[:-20], encode_run(RUN).replace(b'"running"', b'"odd"')]
)
def test_what_is_no_record_is_corrupt(body: bytes) -> None:
    with pytest.raises(CorruptError):
        decode_run(body, "key")


def test_the_id_of_a_merge_depends_on_versions_and_not_on_their_order() -> None:
    one, other = MemoryVersion("a", 1), MemoryVersion("b", 1)
    assert merged_id(Kind.SEMANTIC, [one, other]) == merged_id(Kind.SEMANTIC, [other, one])
    assert merged_id(Kind.SEMANTIC, [one, other]) != merged_id(Kind.SEMANTIC, [one, MemoryVersion("b", 2)])
    assert merged_id(Kind.SEMANTIC, [one, other]) != merged_id(Kind.EPISODIC, [one, other])


def test_a_result_never_replaces_one_that_is_recorded() -> None:
    results = {merge.id: replace(merge, state=MergeState.MERGED) for merge in RUN.merges}
    changed = RUN.with_results(results)
    assert [merge.state for merge in changed.merges] == [MergeState.MERGED, MergeState.SKIPPED]


def test_a_merged_memory_is_as_old_as_the_oldest() -> None:
    old = memory("a", created_at=NOW - timedelta(days=3), tags=("x",))
    merged = merged_memory([memory("b", importance=0.9), old], "text", run=RUN, now=NOW, limits=Limits())
    assert (merged.created_at, merged.importance, merged.tags) == (old.created_at, 0.9, ("x",))
    assert merged.consolidated_from == (MemoryVersion("a", 1), MemoryVersion("b", 1))


def test_contradicting_data_cannot_be_merged() -> None:
    with pytest.raises(ValidationError):
        merged_memory(
            [memory("a", data={"x": 1}), memory("b", data={"x": 1.5})], "text", run=RUN, now=NOW, limits=Limits()
        )


def test_more_tags_than_are_allowed_cannot_be_merged() -> None:
    many = [memory(name, tags=tuple(f"{name}{number}" for number in range(20))) for name in "ab"]
    with pytest.raises(LimitExceededError):
        merged_memory(many, "text", run=RUN, now=NOW, limits=Limits())


@pytest.mark.parametrize(
    "fields",
    [
        {"pinned": True},
        {"supersedes": (MemoryVersion("old", 1),)},
        {"expires_at": NOW + timedelta(days=1)},
        {"data": {}},
    ],
    ids=str,
)
def test_some_memories_may_not_be_merged(fields: dict) -> None:
    assert may_merge(memory("chosen"), settle_at=NOW + timedelta(days=7))
    assert not may_merge(memory("chosen", **fields), settle_at=NOW + timedelta(days=7))


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": Kind.EPISODIC},
        {"attribution": Attribution(author="a")},
        {"valid_from": NOW},
        {"valid_to": NOW},
        {"expires_at": NOW},
    ],
    ids=str,
)
def test_memories_that_are_merged_share_more_than_their_text(fields: dict) -> None:
    assert merge_key(memory("a")) == merge_key(memory("b", tags=("x",), source="s"))
    assert merge_key(memory("a")) != merge_key(memory("b", **fields))


def test_a_record_is_neither_a_memory_nor_a_segment() -> None:
    key = consolidation_key(PLACE, "1")
    assert (parse_truth_key(key), parse_segment_key(key)) == (None, None)
