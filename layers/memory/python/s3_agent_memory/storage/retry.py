"""The one bounded loop behind every read-modify-write, and what is known about a write that got no answer."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

from s3_agent_memory.domain.clock import Clock, Entropy
from s3_agent_memory.errors import (
    BackendError,
    CorruptError,
    NotFoundError,
    PreconditionFailedError,
    ThrottledError,
    UnknownOutcomeError,
)

_RANDOM_BYTES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how patiently a lost race is run again.

    Attributes:
        attempt_count_max: attempts in all, the first included.
        base_seconds: the wait before the second attempt is random up to this; it doubles from there.
        cap_seconds: no wait is longer than this.
    """

    attempt_count_max: int = 40
    base_seconds: float = 0.005
    cap_seconds: float = 0.5


class Retrier:
    """Hands out attempts with jittered waits between them (full jitter, so that rivals do not meet again)."""

    def __init__(self, clock: Clock, entropy: Entropy, policy: RetryPolicy) -> None:
        self._clock = clock
        self._entropy = entropy
        self._policy = policy

    def attempts(self, what: str) -> Iterator[int]:
        """Yield attempt numbers from 0, waiting before each but the first.

        Args:
            what: what is being tried, for the error.

        Raises:
            ThrottledError: the attempts are used up.

        Example:
            for _ in retrier.attempts("write the manifest"):
                ...  # return on success, continue on a lost race
        """
        for number in range(self._policy.attempt_count_max):
            if number:
                ceiling = min(self._policy.cap_seconds, self._policy.base_seconds * 2 ** min(number, 20))
                self._clock.sleep(ceiling * self._random_fraction())
            yield number
        raise ThrottledError(
            f"gave up to {what} after {self._policy.attempt_count_max} attempts; send the same request again later"
        )

    def _random_fraction(self) -> float:
        value: int = int.from_bytes(self._entropy.random_bytes(_RANDOM_BYTES))
        return value / 2.0 ** (8 * _RANDOM_BYTES)


@dataclass(slots=True)
class Doubt:
    """What one call knows of its own writes: the bytes it sent, and whether any of them may have had an effect.

    As a context manager it turns a failure into ``UnknownOutcomeError`` once that is so, because "failed" would then
    be a guess.

    Attributes:
        sent: the bytes of every attempt, by which a landed attempt is recognised.
        may_have_effect: True once a write was done, or got no answer.
    """

    sent: set[bytes] = field(default_factory=set)
    may_have_effect: bool = False

    def is_own(self, body: bytes) -> bool:
        """Return True if ``body``, found in the store, is an attempt of this call that landed.

        Equal bytes alone prove nothing: the same memory may have been there before.
        """
        return self.may_have_effect and body in self.sent

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        hides_outcome = isinstance(
            error, (BackendError, ThrottledError, NotFoundError, PreconditionFailedError, CorruptError)
        )
        if self.may_have_effect and hides_outcome and not isinstance(error, UnknownOutcomeError):
            raise UnknownOutcomeError(
                "the storage failed in the middle of a write; read before writing again"
            ) from error
