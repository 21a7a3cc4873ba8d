"""Settings of a queue and of the function behind it, which depend on each other."""

from dataclasses import dataclass
from typing import Final

# What SQS is advised to: a batch that was throttled can be tried again before its messages come back.
_VISIBILITY_FACTOR: Final = 6
# A long run whose time is up leaves the rest to the next one, which should not be long in coming.
_LONG_RUN_VISIBILITY_FACTOR: Final = 2
# Each takes the work on where the last one stopped, so that much of it needs many of them.
_LONG_RUN_RECEIVE_COUNT_MAX: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """How a function works through a queue.

    Attributes:
        batch_window_seconds: for which messages are collected.
        maximum_concurrency: executions at once; 0 for no limit.
        timeout_seconds: of one batch.
        visibility_seconds: until a message that was not finished comes again.
        receive_count_max: how often a message comes before it goes to the dead-letter queue.
    """

    batch_window_seconds: int
    maximum_concurrency: int
    timeout_seconds: int
    visibility_seconds: int
    receive_count_max: int


def short_runs(
    *,
    batch_window_seconds: int,
    maximum_concurrency: int,
    timeout_seconds: int,
    visibility_seconds: int | None,
    receive_count_max: int,
) -> QueueSettings:
    """Return how a function works through a queue whose messages are done with in one run.

    Args:
        visibility_seconds: None for six timeouts and a window.
    """
    usual_seconds = _VISIBILITY_FACTOR * timeout_seconds + batch_window_seconds
    return QueueSettings(
        batch_window_seconds=batch_window_seconds,
        maximum_concurrency=maximum_concurrency,
        timeout_seconds=timeout_seconds,
        visibility_seconds=visibility_seconds or usual_seconds,
        receive_count_max=receive_count_max,
    )


def long_runs(*, batch_window_seconds: int, maximum_concurrency: int, timeout_seconds: int) -> QueueSettings:
    """Return how a function works through a queue whose messages may need more than one run."""
    return QueueSettings(
        batch_window_seconds=batch_window_seconds,
        maximum_concurrency=maximum_concurrency,
        timeout_seconds=timeout_seconds,
        visibility_seconds=_LONG_RUN_VISIBILITY_FACTOR * timeout_seconds + batch_window_seconds,
        receive_count_max=_LONG_RUN_RECEIVE_COUNT_MAX,
    )
