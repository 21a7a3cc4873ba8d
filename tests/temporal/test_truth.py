"""What is true when, whatever is done to facts and whatever the index goes through meanwhile."""

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.temporal.machine import TemporalMachine


def test_every_moment_is_answered_by_the_rules() -> None:
    profile = settings()
    limits = settings(max_examples=max(1, profile.max_examples // 3), stateful_step_count=20)
    run_state_machine_as_test(TemporalMachine, settings=limits)
