"""The one retry loop is bounded and patient, and a doubtful write is never called a failure."""

import pytest

from s3_agent_memory.errors import (
    BackendError,
    ConflictError,
    CorruptError,
    ForgottenError,
    NotFoundError,
    PreconditionFailedError,
    ThrottledError,
    UnknownOutcomeError,
    ValidationError,
)
from s3_agent_memory.storage.retry import Doubt, Retrier, RetryPolicy
from tests.fakes.clock import FakeClock
from tests.fakes.entropy import SeededEntropy


def waits_of(policy: RetryPolicy, seed: int = 0) -> list[float]:
    """Return the waits of a loop that never succeeds."""
    clock = FakeClock()
    with pytest.raises(ThrottledError):
        list(Retrier(clock, SeededEntropy(seed), policy).attempts("try"))
    return clock.slept_seconds


def test_attempts_are_numbered_from_0() -> None:
    attempts = Retrier(FakeClock(), SeededEntropy(), RetryPolicy()).attempts("try")
    assert [next(attempts) for _ in range(3)] == [0, 1, 2]


def test_attempts_end_with_an_error_that_says_what_was_tried() -> None:
    retrier = Retrier(FakeClock(), SeededEntropy(), RetryPolicy(attempt_count_max=4))
    with pytest.raises(ThrottledError, match="gave up to write the manifest after 4 attempts"):
        list(retrier.attempts("write the manifest"))


def test_the_first_attempt_does_not_wait() -> None:
    assert waits_of(RetryPolicy(attempt_count_max=1)) == []


def test_waits_stay_below_a_ceiling_that_doubles_up_to_the_cap() -> None:
    policy = RetryPolicy(attempt_count_max=40, base_seconds=0.005, cap_seconds=0.5)
    ceilings = [min(0.5, 0.005 * 2**number) for number in range(1, 40)]
    assert all(0 <= wait < ceiling for wait, ceiling in zip(waits_of(policy), ceilings, strict=True))


def test_rivals_wait_differently() -> None:
    assert waits_of(RetryPolicy(), seed=1) != waits_of(RetryPolicy(), seed=2)


def test_all_waits_of_the_default_policy_end_within_20_seconds() -> None:
    assert sum(waits_of(RetryPolicy())) < 20


# --- doubt ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        BackendError("x"),
        ThrottledError("x"),
        NotFoundError("x"),
        PreconditionFailedError("x"),
        CorruptError("x", key="k"),
    ],
)
def test_a_failure_after_a_write_with_an_effect_is_an_unknown_outcome(error: Exception) -> None:
    with pytest.raises(UnknownOutcomeError) as caught, Doubt(may_have_effect=True):
        raise error
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [ConflictError("x"), ForgottenError("x"), ValidationError("x"), KeyError("x")])
def test_an_answer_that_is_certain_passes_through_doubt(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, Doubt(may_have_effect=True):
        raise error
    assert caught.value is error


def test_an_unknown_outcome_stays_what_it_is() -> None:
    error = UnknownOutcomeError("x")
    with pytest.raises(UnknownOutcomeError) as caught, Doubt(may_have_effect=True):
        raise error
    assert caught.value is error


def test_without_doubt_a_failure_is_a_failure() -> None:
    with pytest.raises(ThrottledError), Doubt():
        raise ThrottledError("x")
