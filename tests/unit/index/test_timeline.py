"""Which rows are true when, compared with a look at every pair of rows, over any split into segments."""

import random
from collections.abc import Sequence

import pytest

from s3_agent_memory.domain.validity import Moment
from s3_agent_memory.index.row import Row
from s3_agent_memory.index.segment import Segment, build_segment
from s3_agent_memory.index.segment_layout import COLUMN_DTYPES
from s3_agent_memory.index.snapshot import Snapshot
from tests.unit.index.rows import SIGNATURE, make_deletion, make_row, make_segment, random_rows, winners
from tests.unit.index.test_segment_merge import split


def named(row: Row) -> tuple[str, int]:
    return row.id, row.version


def has_begun(row: Row, moment: Moment) -> bool:
    is_said = row.valid_from_us not in (None, row.created_us)
    return row.begin_us <= moment.us or (moment.is_present and not is_said)


def ends(row: Row, other: Row, living: Sequence[Row]) -> bool:
    """Return True if ``other``, once begun, is what ends ``row``."""
    if named(row) in {(item.id, item.version) for item in other.supersedes}:
        return True
    is_void = (other.valid_to_us is not None and other.valid_to_us <= other.begin_us) or any(
        third.begin_us <= other.begin_us and named(other) in {(item.id, item.version) for item in third.supersedes}
        for third in living
    )
    return bool(set(row.supersedes) & set(other.supersedes)) and other.begin_us > row.begin_us and not is_void


def true_ids(rows: Sequence[Row], moment: Moment) -> set[str]:
    living = [row for row in winners(rows).values() if not row.is_deleted]
    absorbed = {(item.id, item.version) for row in living for item in row.consolidated_from}
    return {
        row.id
        for row in living
        if has_begun(row, moment)
        and (row.valid_to_us is None or moment.us < row.valid_to_us)
        and named(row) not in absorbed
        and not any(has_begun(other, moment) and ends(row, other, living) for other in living)
    }


def found_ids(snapshot: Snapshot, moment: Moment) -> set[str]:
    mask = snapshot.is_true_at(moment)
    docs = snapshot.live_docs()
    return {item.decode() for item in snapshot.ids(docs if mask is None else docs[mask[docs]]).tolist()}


@pytest.mark.parametrize("seed", range(80))
def test_every_split_of_rows_gives_the_same_truth(seed: int) -> None:
    rng = random.Random(seed)
    rows = random_rows(rng, rng.randrange(60), id_count=12)
    snapshot = Snapshot([make_segment(part) for part in split(rng, rows)])
    for us in range(41):
        for is_present in (True, False):
            moment = Moment(us, is_present=is_present)
            assert found_ids(snapshot, moment) == true_ids(rows, moment), f"seed {seed}, {moment}"


@pytest.mark.parametrize("seed", range(20))
def test_rows_come_out_of_a_segment_as_they_went_in(seed: int) -> None:
    rows = winners(random_rows(random.Random(seed), 40, id_count=20))
    for row in make_segment(rows.values()).rows():
        wanted = rows[row.id]
        # A begin that is that of the creation need not be said.
        assert (row.begin_us, row.valid_to_us) == (wanted.begin_us, wanted.valid_to_us)
        assert row.supersedes == tuple(dict.fromkeys(wanted.supersedes))
        assert row.consolidated_from == wanted.consolidated_from


def test_a_segment_of_plain_rows_has_none_of_these_columns() -> None:
    body = build_segment([make_row("a"), make_deletion("b")], analyzer_signature=SIGNATURE)
    assert b"timed_rows" not in body
    assert b"naming_rows" not in body
    assert Snapshot([Segment.decode(body, "key")]).timeline is None
    assert not any(name.startswith(("timed", "naming")) for name in COLUMN_DTYPES)


def test_nothing_is_true_before_it_was_created() -> None:
    snapshot = Snapshot([make_segment([make_row("a", created_us=5)])])
    assert [found_ids(snapshot, Moment(us, is_present=False)) for us in (4, 5)] == [set(), {"a"}]
    assert found_ids(snapshot, Moment(4)) == {"a"}
