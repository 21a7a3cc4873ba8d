"""Rows hold what ranking and filters need of a memory."""

from datetime import timedelta

from s3_agent_memory.domain.clock import to_us
from s3_agent_memory.domain.codec import Tombstone
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.index.row import etag_hash, row_of_tombstone
from s3_agent_memory.index.terms import BODY, TAG, term_hash
from tests.unit.index.rows import MOMENT, make_deletion, make_row, row_of

TOMBSTONE = Tombstone(
    id="a", kind=Kind.EPISODIC, deletes_version=3, forgotten_at="2026-05-01T00:00:00Z", reason="r", nonce="n"
)


def test_row_counts_the_words_of_the_text():
    row = row_of(content="Tea, tea and the coffee", tags=("hot",))
    assert row.terms == {term_hash(BODY, "tea"): 2, term_hash(BODY, "coffe"): 1, term_hash(TAG, "hot"): 1}


def test_length_counts_an_accented_word_once():
    assert row_of(content="the café au lait").length == 3


def test_frequency_is_capped():
    assert row_of(content="tea " * 1_000).terms == {term_hash(BODY, "tea"): 255}


def test_row_carries_the_moments_in_microseconds():
    row = row_of(updated_at=MOMENT + timedelta(microseconds=7), expires_at=MOMENT + timedelta(days=1))
    base = to_us(MOMENT)
    assert (row.created_us, row.updated_us, row.expires_us) == (base, base + 7, base + 86_400_000_000)


def test_row_without_expiry_holds_0():
    assert row_of().expires_us == 0


def test_deletion_ranks_above_what_it_deletes_and_below_the_next_version():
    ranks = [make_row(version=3).rank, make_deletion(version=3).rank, make_row(version=4).rank]
    assert ranks == sorted(set(ranks))


def test_row_of_a_tombstone_has_no_terms():
    row = row_of_tombstone(TOMBSTONE, etag="e")
    assert (row.rank, row.terms, row.created_us, row.updated_us) == (7, {}, 0, to_us(MOMENT))


def test_etag_hash_is_never_the_mark_for_unknown():
    assert all(etag_hash(f"etag {number}") for number in range(1_000))
