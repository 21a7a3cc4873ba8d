"""Segments: whatever a file holds, even under right checksums, it is corrupt or can be searched and merged."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s3_agent_memory.domain.filters import parse_filter
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.domain.ranking import Ranking
from s3_agent_memory.domain.validity import MemoryVersion, Moment
from s3_agent_memory.errors import CorruptError
from s3_agent_memory.index.column_file import decode_columns, encode_columns
from s3_agent_memory.index.query import Query
from s3_agent_memory.index.row import Row, row_of_memory
from s3_agent_memory.index.searcher import latest, search
from s3_agent_memory.index.segment import Segment, build_segment
from s3_agent_memory.index.segment_layout import COLUMN_DTYPES, MAGIC
from s3_agent_memory.index.segment_merge import merge_segments
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.sparse_rows import COLUMN_DTYPES as SPARSE_DTYPES
from s3_agent_memory.index.text.analyzer import Analyzer
from tests.fuzz.damage import damaged, odd_documents, repacked

KEY = "some.seg"
SIGNATURE = "english/1"
NOW_US = 1_800_000_000_000_000
WORDS = ["run", "metric", "units", "café"]
MORE_EXAMPLES = settings(max_examples=3 * settings().max_examples)


def _row(number: int) -> Row:
    moment = datetime(2026, 1 + number % 12, 1, tzinfo=UTC)
    memory = Memory(
        id=f"id-{number:0{1 + number % 3}}",
        namespace=Namespace(("n",)),
        kind=list(Kind)[number % 3],
        content=" ".join(WORDS[: 1 + number % 4]),
        tags=("red",) if number % 2 else (),
        created_at=moment,
        updated_at=moment,
        expires_at=datetime(2026 + number % 3, 6, 1, tzinfo=UTC) if number % 2 else None,
        data={"price": number},
        valid_from=datetime(2025, 1, 1, tzinfo=UTC) if number % 3 == 1 else None,
        valid_to=datetime(2027, 1, 1, tzinfo=UTC) if number % 3 == 1 else None,
        supersedes=(MemoryVersion("id-3", 1), MemoryVersion("absent", 2)) if number % 4 == 2 else (),
        consolidated_from=(MemoryVersion("id-00", 1),) if number % 4 == 3 else (),
    )
    return row_of_memory(memory, etag=str(number), analyzer=Analyzer())


DELETION = Row(id="id-3", kind=Kind.SEMANTIC, version=1, is_deleted=True, terms={})
BODY = build_segment([*map(_row, range(7)), DELETION], analyzer_signature=SIGNATURE, folded_keys=["log/1", "log/2"])
OTHER = Segment.decode(build_segment(map(_row, range(5, 9)), analyzer_signature=SIGNATURE), "other.seg")
ALL_DTYPES = {**COLUMN_DTYPES, **SPARSE_DTYPES}
HEADER, COLUMNS = decode_columns(BODY, KEY, magic=MAGIC, dtypes=ALL_DTYPES)
FILTERS = parse_filter({"importance": {"$gte": 0.1}, "data.price": {"$ne": 3}, "created_at": {"$gt": "2020-01-01"}})


def read_and_use(body: bytes) -> None:
    """Read a segment, and do everything with it that readers, folds and merges do."""
    try:
        segment = Segment.decode(body, KEY)
    except CorruptError:
        return
    ids = segment.all_ids()
    assert [row.id for row in segment.rows()] == ids
    for memory_id in (*ids, "absent"):
        segment.find(memory_id)
    use(Snapshot([segment, OTHER]), ids)
    use(Snapshot([OTHER, segment]), ids)
    merged = (
        merge_segments([segment, OTHER], analyzer_signature=segment.analyzer_signature, deletion_horizon_us=NOW_US)
        if segment.analyzer_signature == SIGNATURE
        else BODY
    )
    Segment.decode(merged, KEY)


def use(snapshot: Snapshot, ids: list[str]) -> None:
    """Search, list and sum up."""
    assert int(snapshot.digest(), 16) >= 0
    assert sum(snapshot.count_by_kind().values()) == snapshot.live_count == len(list(snapshot.live_ids()))
    snapshot.expired_ids(NOW_US)
    snapshot.winner_etags(["absent", *dict.fromkeys(ids)])
    selections: list[dict[str, Any]] = [
        {"kind": None, "tags": (), "conditions": ()},
        {"kind": Kind.SEMANTIC, "tags": ("red",), "conditions": FILTERS},
    ]
    for selection in selections:
        for query in (None, Query.of_terms(["run", "metric", "absent"])):
            found = search(snapshot, query, meaning=None, ranking=Ranking(), now_us=NOW_US, **selection)
            assert len(found.top(0, 50)) == min(50, found.count)
        for moment in (None, Moment(NOW_US), Moment(NOW_US, is_present=False)):
            latest(snapshot, now_us=NOW_US, before=(NOW_US, "id-3"), limit=5, true_at=moment, **selection)
    for memory_id in ("id-3", "absent"):
        snapshot.namers_of(memory_id)


@st.composite
def odd_columns(draw: st.DrawFn) -> dict[str, npt.NDArray[Any]]:
    """Draw the columns of a segment with a few odd elements, or one of another length."""
    columns = dict(COLUMNS)
    for _ in range(draw(st.integers(1, 2))):
        name = draw(st.sampled_from(sorted(columns)))
        columns[name] = _odd_column(draw, columns[name])
    return columns


def _odd_column(draw: st.DrawFn, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    copy = column.copy()
    change = draw(st.sampled_from(["element", "element", "swap", "shorten", "lengthen", "empty"]))
    if change == "empty" or not len(copy):
        return copy[:0]
    places = st.integers(0, len(copy) - 1)
    if change == "shorten":
        return copy[: draw(places)]
    if change == "lengthen":
        return np.concatenate([copy, copy[: 1 + draw(places)]])
    first, second = draw(places), draw(places)
    if change == "swap":
        copy[[first, second]] = copy[[second, first]]
    else:
        copy[first] = draw(st.sampled_from(_odd_elements(copy.dtype, len(COLUMNS["kinds"]))))
    return copy


def _odd_elements(dtype: np.dtype[Any], row_count: int) -> list[Any]:
    if dtype.kind == "f":
        return [0.0, 1.0, -1.0, 2.0, float("nan"), float("inf")]
    limits = np.iinfo(dtype)
    near = [0, 1, 2, 3, 127, 128, row_count - 1, row_count, (row_count << 8) | 1, 256, 1 << 8, 1 << 62]
    return [limits.min, limits.max, limits.max - 1, *(value for value in near if value <= limits.max)]


def test_an_intact_segment_is_read() -> None:
    assert Segment.decode(BODY, KEY).row_count == 7
    read_and_use(BODY)


@MORE_EXAMPLES
@given(damaged(BODY))
def test_damaged_bytes_are_corrupt_or_usable(body: bytes) -> None:
    read_and_use(body)


@given(st.integers(0, 8 * len(BODY) - 1))
def test_no_flipped_bit_goes_unnoticed(bit: int) -> None:
    body = bytearray(BODY)
    body[bit // 8] ^= 1 << (bit % 8)
    with pytest.raises(CorruptError, match=KEY):
        Segment.decode(bytes(body), KEY)


@MORE_EXAMPLES
@given(odd_columns())
def test_odd_columns_under_right_checksums_are_corrupt_or_usable(
    columns: Mapping[str, npt.NDArray[Any]],
) -> None:
    header = {name: value for name, value in HEADER.items() if name != "columns"}
    read_and_use(encode_columns(MAGIC, header, columns))


@MORE_EXAMPLES
@given(odd_documents(json.loads(json.dumps(HEADER))))
def test_an_odd_directory_under_a_right_checksum_is_corrupt_or_usable(directory: Any) -> None:
    read_and_use(repacked(BODY, directory))


@given(st.sampled_from(sorted(ALL_DTYPES)), st.sampled_from([-1, 0, 2**31, 2**32, 2**63, 2**64, 10**30]))
def test_absurd_counts_are_corrupt(name: str, count: int) -> None:
    directory = json.loads(json.dumps(HEADER))
    entry = next(item for item in directory["columns"] if item[0] == name)
    entry[2] = count
    with pytest.raises(CorruptError, match=KEY):
        Segment.decode(repacked(BODY, directory), KEY)
