"""Every grace is longer, by far, than what it protects against."""

from s3_agent_memory.service import grace

# The longest life of a function.
FUNCTION_MS = 15 * 60 * 1_000


def test_log_entries_outlive_the_slowest_reader() -> None:
    assert grace.LOG_GRACE_MS >= 2 * grace.READ_GAP_MS


def test_replaced_segments_outlive_the_slowest_reader() -> None:
    assert min(grace.TRASH_GRACE_MS, grace.TRASH_CROWDED_GRACE_MS) >= 10 * grace.READ_GAP_MS


def test_replaced_segments_outlive_a_function() -> None:
    assert grace.TRASH_GRACE_MS >= 4 * FUNCTION_MS


def test_a_swap_is_in_doubt_for_less_than_its_files_live() -> None:
    assert min(grace.TRASH_GRACE_MS, grace.TRASH_CROWDED_GRACE_MS) >= 2 * grace.SWAP_DOUBT_MAX_MS


def test_a_committer_gives_up_long_before_its_upload_is_collected() -> None:
    assert 2 * grace.UPLOAD_AGE_MAX_MS <= grace.ORPHAN_AGE_MS


def test_deletions_outlive_an_upload_that_may_still_be_committed() -> None:
    assert grace.DELETION_AGE_MS >= 4 * grace.UPLOAD_AGE_MAX_MS
