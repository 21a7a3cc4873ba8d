"""The window of a session: marks, batches, erasures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3_agent_memory.domain.scopes import Contributor, Level, Scope
from s3_agent_memory.domain.session_codec import decode_window, encode_window
from s3_agent_memory.domain.tiers import Marks
from s3_agent_memory.domain.turns import Turn, token_count_of
from s3_agent_memory.domain.window import (
    APPLIED_COUNT_MAX,
    CONTRIBUTOR_COUNT_MAX,
    Window,
    append,
    count_to_evict,
    digested,
    erased,
    mint_write_id,
    without_erasure,
    without_pending,
)
from s3_agent_memory.errors import CorruptError, LimitExceededError
from tests.unit.domain.turns_of import ALICE, BOB, turn

MARKS = Marks(high_tokens=40, low_tokens=20, turn_count_max=100)
NONCE = "0" * 16
turns_of_any_size = st.lists(st.integers(1, 60).map(lambda tokens: turn(f"t{tokens}", tokens=tokens)), max_size=30)


def filled(*turns: Turn, window: Window | None = None) -> Window:
    return append(window or Window(session_id="s"), turns, write_id=None, marks=MARKS)


def test_turns_stay_up_to_the_high_mark() -> None:
    window = filled(*(turn(str(n)) for n in range(4)))
    assert (len(window.turns), window.pending) == (4, None)


def test_past_the_high_mark_the_oldest_leave_down_to_the_low_mark() -> None:
    window = filled(*(turn(str(n)) for n in range(5)))
    assert [item.content for item in window.turns] == ["3", "4"]
    assert window.pending is not None
    assert [item.content for item in window.pending.turns] == ["0", "1", "2"]
    assert (window.pending.number, window.next_batch) == (1, 2)


def test_the_newest_turn_never_leaves() -> None:
    window = filled(turn("small"), turn("huge", tokens=1_000))
    assert [item.content for item in window.turns] == ["huge"]


def test_without_marks_every_turn_leaves() -> None:
    window = append(Window(), [turn("a"), turn("b")], write_id=None, marks=None)
    assert window.pending is not None
    assert (window.turns, len(window.pending.turns)) == ((), 2)


def test_the_cap_on_turns_leaves_half_of_them() -> None:
    marks = Marks(high_tokens=1_000, low_tokens=500, turn_count_max=10)
    assert count_to_evict([turn("x", tokens=1)] * 11, marks) == 6


@given(turns_of_any_size)
def test_what_stays_is_within_the_marks_or_one_turn(turns: list[Turn]) -> None:
    left = turns[count_to_evict(turns, MARKS) :]
    is_untouched = left == turns and token_count_of(turns) <= MARKS.high_tokens
    assert is_untouched or len(left) == 1 or token_count_of(left) <= MARKS.low_tokens


@given(st.lists(st.integers(1, 60), max_size=40))
def test_no_turn_is_lost_doubled_or_reordered(sizes: list[int]) -> None:
    window = Window(session_id="s")
    gone: list[Turn] = []
    written: list[Turn] = []
    for number, tokens in enumerate(sizes):
        written.append(turn(str(number), tokens=tokens))
        window = append(without_pending(window), written[-1:], write_id=None, marks=MARKS)
        gone += window.pending.turns if window.pending else ()
    assert [*gone, *window.turns] == written


def test_the_latest_writes_are_remembered_and_the_floor_rises_behind_them() -> None:
    window = Window(session_id="s")
    ids = [f"{number:013d}-{NONCE}" for number in range(APPLIED_COUNT_MAX + 3)]
    for write_id in ids:
        window = append(without_pending(window), [turn("x", tokens=1)], write_id=write_id, marks=MARKS)
    assert (window.applied, window.floor) == (tuple(ids[3:]), ids[2])


def test_an_id_is_minted_above_the_floor_whatever_the_clock_says() -> None:
    window = Window(floor="0000000000500-~")
    assert mint_write_id(window, now_ms=3, nonce=NONCE) == f"0000000000501-{NONCE}"


def test_a_session_has_a_limit_of_contributors() -> None:
    crowd = [turn("x", by=Contributor(principal=str(n))) for n in range(CONTRIBUTOR_COUNT_MAX + 1)]
    with pytest.raises(LimitExceededError, match="contributors"):
        append(Window(), crowd, write_id=None, marks=None)


def erase(window: Window, scope: Scope, undigested: tuple[Turn, ...] = ()) -> Window:
    return erased(window, scope, undigested=undigested, now_ms=1_000, marks=MARKS)


def test_erasing_a_session_leaves_an_empty_window_of_the_next_epoch() -> None:
    window = erase(filled(turn("a"), turn("b", by=BOB)), Scope(level=Level.SESSION))
    assert (window.epoch, window.turns, window.contributors, window.session_id) == (2, (), (), None)


def test_erasing_a_user_leaves_what_others_wrote_and_is_not_digested() -> None:
    window = digested(filled(turn("mine"), turn("theirs", by=BOB)), 0, "head")
    left = erase(window, Scope(level=Level.USER, principal="alice"), (turn("old", by=BOB), turn("old mine")))
    assert [item.content for item in left.turns] == ["old", "theirs"]
    assert (left.contributors, left.head, left.done) == ((BOB,), None, 0)


def test_what_an_erasure_leaves_keeps_to_the_marks() -> None:
    left = erase(filled(turn("a")), Scope(level=Level.USER, principal="alice"), (turn("b", by=BOB),) * 5)
    assert left.pending is not None
    assert (len(left.turns), len(left.pending.turns)) == (2, 3)


def test_an_erasure_puts_the_floor_above_every_write_and_the_clock() -> None:
    written = append(Window(), [turn("a")], write_id=f"0000000009000-{NONCE}", marks=MARKS)
    assert erase(written, Scope(level=Level.STORE)).floor == f"0000000009000-{NONCE}~"
    assert erase(filled(turn("a")), Scope(level=Level.STORE)).floor == "0000000006000-~"


def test_an_erasure_is_remembered_until_its_traces_are_gone() -> None:
    window = erase(filled(turn("a")), Scope(level=Level.USER, principal="alice"))
    (erasure,) = window.erasures
    assert (erasure.epoch, window.is_idle, without_erasure(window, erasure).is_idle) == (1, False, True)


def test_a_window_survives_its_stored_form() -> None:
    window = erase(filled(*[turn("a")] * 5, turn("ü\n", by=BOB)), Scope(level=Level.AGENT, agent_client_id="x"))
    assert decode_window(encode_window(window), "key") == window


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"schema": 1}', b'{"schema": 2}', b"\xff"])
def test_what_is_no_window_is_corrupt(body: bytes) -> None:
    with pytest.raises(CorruptError, match="no readable window"):
        decode_window(body, "sessions/x/_windows/y.json")


def test_contributors_are_known_by_user_and_agent() -> None:
    assert filled(turn("a"), turn("b", by=BOB), turn("c")).contributors == (ALICE, BOB)
