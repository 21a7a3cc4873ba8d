"""What every service is given: the storage, the time, randomness, limits and the retry loop."""

from dataclasses import dataclass

from s3_agent_memory.domain.clock import Clock, Entropy
from s3_agent_memory.domain.ids import IdSource
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.storage.port import ObjectStore
from s3_agent_memory.storage.retry import Retrier


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """The outside world of the services, passed in as one value.

    Attributes:
        has_events: True if every write wakes an indexer, whoever writes; so every namespace soon has its marker.
    """

    store: ObjectStore
    clock: Clock
    entropy: Entropy
    ids: IdSource
    limits: Limits
    retrier: Retrier
    has_events: bool = False

    def now_ms(self) -> int:
        """Return the wall clock in milliseconds since the epoch."""
        return self.clock.now_us() // 1_000
