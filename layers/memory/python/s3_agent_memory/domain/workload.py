"""What is asked of a deployment in a month: the input of the cost model, checked."""

from dataclasses import dataclass
from typing import Final

from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.errors import ValidationError

SECONDS: Final = 30 * 86_400

# The deployment's defaults.
BATCH_WINDOW_SECONDS: Final = 60
BATCH_SIZE_MAX: Final = 1_000
POLLER_COUNT: Final = 5

ARCHITECTURES: Final = ("arm64", "x86_64")
_COUNT_MAX: Final = 10**12
_NAMESPACE_COUNT_MAX: Final = 10**9
# Merging is size-tiered with a fan-out of 8, so a tier holds four files on average.
_FILES_PER_TIER: Final = 4
_TIER_ROWS: Final = 64
_FAN_OUT: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Work spread evenly over a month of 30 days and over all namespaces.

    That is the dearest way to do it: changes that come together are folded together.

    Attributes:
        recalls, writes, updates: requests a month; an update changes or forgets a memory that is there.
        memories: kept in all namespaces together.
        size_bytes: of a memory's text.
        namespaces: how many there are.
        cold_share: part of the recalls that meet a process which has not read the namespace's index yet.
        changes_per_fold: changes of one namespace that the indexer finds together; None works it out from the rates.
        has_snapshots: True if API and MCP endpoint start from snapshots.
        poller_count: readers that Lambda keeps on each queue: 5 with a maximum concurrency, as few as 2 without.
        architecture: ``arm64`` or ``x86_64``.

    Raises:
        ValidationError: a value is not what it may be; the message says what is allowed.
    """

    recalls: int
    writes: int
    memories: int
    updates: int = 0
    size_bytes: int = 200
    namespaces: int = 1
    cold_share: float = 0.1
    changes_per_fold: float | None = None
    has_snapshots: bool = True
    poller_count: int = POLLER_COUNT
    architecture: str = ARCHITECTURES[0]

    def __post_init__(self) -> None:
        limits = Limits()
        for name in ("recalls", "writes", "updates", "memories"):
            _check(name, getattr(self, name), least=0, most=_COUNT_MAX)
        _check("namespaces", self.namespaces, least=1, most=_NAMESPACE_COUNT_MAX)
        _check("size in bytes", self.size_bytes, least=1, most=limits.content_bytes_max)
        _check("cold share", self.cold_share, least=0, most=1)
        _check("pollers", self.poller_count, least=2, most=BATCH_SIZE_MAX)
        if self.changes_per_fold is not None:
            _check("changes per fold", self.changes_per_fold, least=1, most=BATCH_SIZE_MAX)
        if self.architecture not in ARCHITECTURES:
            raise ValidationError(f"architecture must be one of {', '.join(ARCHITECTURES)}, not {self.architecture!r}")
        most = self.namespaces * limits.memory_count_max
        if self.memories > most:
            raise ValidationError(
                f"memories must be at most {most:,}, {limits.memory_count_max:,} for each namespace, "
                f"not {self.memories:,}"
            )

    @property
    def changes(self) -> int:
        """What the index has to take in."""
        return self.writes + self.updates

    @property
    def request_count(self) -> int:
        """Requests to the API."""
        return self.recalls + self.changes

    def batched(self, count: float) -> float:
        """Return how many of ``count`` evenly spread events a month end in one batch.

        A batch is begun by one event and takes in what comes during its window; every poller fills a batch of its own:
        ``1 + rate x window / pollers``, at most 1,000.
        """
        return min(1 + count / SECONDS * BATCH_WINDOW_SECONDS / self.poller_count, BATCH_SIZE_MAX)

    @property
    def fold_size(self) -> float:
        """Changes of one namespace that are folded together."""
        if self.changes_per_fold is not None:
            return self.changes_per_fold
        return self.batched(self.changes / self.namespaces)

    @property
    def index_file_count(self) -> int:
        """Segments of one namespace, on average; it has as many vector shards."""
        rows, tiers = self.memories / self.namespaces, 1
        while rows >= _TIER_ROWS * _FAN_OUT:
            rows, tiers = rows / _FAN_OUT, tiers + 1
        return _FILES_PER_TIER * tiers


def _check(name: str, value: float, *, least: float, most: float) -> None:
    # Comparing this way round refuses NaN as well.
    if not least <= value <= most:
        raise ValidationError(f"{name} must be from {least:,} to {most:,}, not {value:,}")
