"""A segment holds one row per id, gives rows back as they were, and refuses bytes that are not a segment."""

import random
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.errors import CorruptError
from s3_agent_memory.index import id_table
from s3_agent_memory.index.column_file import decode_columns, encode_columns
from s3_agent_memory.index.row import Row
from s3_agent_memory.index.segment import Segment, build_segment
from s3_agent_memory.index.segment_layout import COLUMN_DTYPES, MAGIC
from tests.unit.index.rows import SIGNATURE, make_deletion, make_row, make_segment, random_rows, winners

MOMENTS_US = st.integers(0, 2**62)
ROWS = st.builds(
    Row,
    id=st.from_regex(r"[a-zA-Z0-9][a-zA-Z0-9._@+-]{0,12}", fullmatch=True),
    kind=st.sampled_from(Kind),
    version=st.integers(1, 2**53),
    is_deleted=st.booleans(),
    etag_hash=st.integers(0, 2**64 - 1),
    created_us=MOMENTS_US,
    updated_us=MOMENTS_US,
    expires_us=MOMENTS_US,
    importance=st.floats(0, 1, width=32),
    length=st.integers(0, 2**32 - 1),
    terms=st.dictionaries(st.integers(0, 2**64 - 1), st.integers(1, 255), max_size=5),
)


def in_order(rows):
    return sorted(rows, key=lambda row: (row.created_us, row.id))


@given(st.lists(ROWS, max_size=12))
def test_rows_come_back_by_age(rows):
    assert list(make_segment(rows).rows()) == in_order(winners(rows).values())


@given(st.lists(ROWS, min_size=1, max_size=6, unique_by=lambda row: row.id))
def test_one_row_comes_back(rows):
    segment = make_segment(rows)
    assert [segment.row(position) for position in range(segment.row_count)] == list(segment.rows())


@given(st.lists(ROWS, max_size=6), st.text(max_size=5), st.lists(st.text(max_size=5), max_size=3))
def test_directory_comes_back(rows, signature, folded_keys):
    segment = make_segment(rows, signature=signature, folded_keys=folded_keys)
    assert (segment.analyzer_signature, list(segment.folded_keys)) == (signature, folded_keys)


@given(st.lists(ROWS, max_size=8), st.randoms())
def test_bytes_do_not_depend_on_the_order_of_rows(rows, rng):
    rows = list(winners(rows).values())
    shuffled = rng.sample(rows, len(rows))
    assert build_segment(rows, analyzer_signature="") == build_segment(shuffled, analyzer_signature="")


@pytest.mark.parametrize(
    "rows", [[make_row(version=2), make_row(version=1)], [make_row(version=1), make_row(version=2)]]
)
def test_highest_rank_of_an_id_is_kept(rows):
    assert [row.version for row in make_segment(rows).rows()] == [2]


def test_last_of_equal_ranks_is_kept():
    assert [row.length for row in make_segment([make_row(length=1), make_row(length=2)]).rows()] == [2]


def test_deletion_outranks_its_version():
    segment = make_segment([make_deletion(version=1), make_row(version=1)])
    assert segment.deletions.tolist() == [0]


@pytest.mark.parametrize("bound", [1, 2, 2**64])
def test_ids_are_found_also_where_hashes_collide(monkeypatch, bound):
    own_hash = id_table.id_hash
    monkeypatch.setattr(id_table, "id_hash", lambda memory_id: own_hash(memory_id) % bound)
    segment = make_segment(make_row(f"id{number}") for number in range(50))
    found = [segment.find(f"id{number}") for number in range(50)]
    assert segment.ids(np.array(found)) == [f"id{number}" for number in range(50)]


def test_unknown_id_is_not_found():
    assert make_segment([make_row("a")]).find("b") is None


def test_docs_of_a_term_ascend():
    segment = make_segment(make_row(f"id{number}", created_us=number, terms={7: 1, number: 2}) for number in range(5))
    assert segment.docs_with(7).tolist() == list(range(5))


def test_docs_of_an_unknown_term_are_none():
    assert make_segment([make_row()]).docs_with(2**64 - 1).tolist() == []


def test_empty_segment_can_be_read():
    segment = make_segment([])
    assert (segment.row_count, list(segment.rows()), segment.find("a"), segment.all_ids()) == (0, [], None, [])


def test_memory_of_12_terms_takes_about_175_bytes():
    rng = random.Random(1)
    rows = [
        make_row(f"{number:024x}", etag_hash=number, terms={rng.randrange(5_000): 1 for _ in range(12)})
        for number in range(5_000)
    ]
    assert make_segment(rows).size_bytes / 5_000 < 180


@pytest.mark.parametrize("bit", [0, 7])
def test_every_flipped_bit_is_noticed(bit):
    body = build_segment(random_rows(random.Random(3), 12, id_count=8), analyzer_signature=SIGNATURE)
    for position in range(len(body)):
        damaged = bytearray(body)
        damaged[position] ^= 1 << bit
        with pytest.raises(CorruptError):
            Segment.decode(bytes(damaged), "key")


def test_every_truncation_is_noticed():
    body = build_segment(random_rows(random.Random(3), 12, id_count=8), analyzer_signature=SIGNATURE)
    for length in range(len(body)):
        with pytest.raises(CorruptError):
            Segment.decode(body[:length], "key")


@given(st.binary(max_size=300))
def test_foreign_bytes_are_refused(body):
    with pytest.raises(CorruptError):
        Segment.decode(MAGIC + body, "key")


@pytest.mark.parametrize(("size", "column"), [(2**32 - 1, 2), (4096, 2**62), (64, 10**30), (0, -1)])
def test_absurd_sizes_are_refused_at_once(size, column):
    directory = b'{"columns":[["id_offsets","u4",%d,0]]}' % column
    body = MAGIC + size.to_bytes(4, "little") + zlib.crc32(directory).to_bytes(4, "little") + directory
    with pytest.raises(CorruptError):
        Segment.decode(body, "key")


def forged(change):
    """Return a segment with sound checksums whose directory or columns somebody changed."""
    rows = [make_row(f"id{number}", created_us=number, terms={7: 1, number: 2}) for number in range(4)]
    body = build_segment(rows, analyzer_signature=SIGNATURE)
    directory, views = decode_columns(body, "key", magic=MAGIC, dtypes=COLUMN_DTYPES)
    columns = {name: view.copy() for name, view in views.items()}
    header = {name: value for name, value in directory.items() if name != "columns"}
    change(header, columns)
    return encode_columns(MAGIC, header, columns)


def setting(name, index, value):
    return lambda _, columns: columns[name].__setitem__(index, value)


def shortening(name):
    return lambda _, columns: columns.__setitem__(name, columns[name][:-1])


FORGERIES = {
    "schema": lambda header, _: header.update(schema=9),
    "no analyzer": lambda header, _: header.pop("analyzer"),
    "digest": lambda header, _: header.update(digest="x"),
    "folded keys": lambda header, _: header.update(folded_keys=[1]),
    "kind": setting("kinds", 0, 3),
    "rank": setting("ranks", 0, 0),
    "importance": setting("importances", 0, np.nan),
    "age order": setting("created_us", 0, 99),
    "hash order": setting("id_hashes", 0, 2**64 - 1),
    "id position": setting("id_order", 0, 4),
    "id position twice": setting("id_order", slice(None), 1),
    "id bounds": setting("id_offsets", 1, 99),
    "empty id": setting("id_offsets", 1, 0),
    "id with NUL": setting("id_bytes", 0, 0),
    "id not ASCII": setting("id_bytes", 0, 200),
    "term order": setting("term_hashes", 0, 2**64 - 1),
    "term bounds": setting("term_offsets", 1, 99),
    "posting of no row": setting("postings", 0, 4 << 8 | 1),
    "posting without frequency": setting("postings", 0, 0),
    **{f"short {name}": shortening(name) for name in COLUMN_DTYPES},
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_contradicting_columns_are_refused(forgery):
    with pytest.raises(CorruptError):
        Segment.decode(forged(FORGERIES[forgery]), "key")


def test_unchanged_columns_are_accepted():
    assert Segment.decode(forged(lambda *_: None), "key").row_count == 4
