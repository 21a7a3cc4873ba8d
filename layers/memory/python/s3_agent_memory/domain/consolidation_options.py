"""What a consolidation may do, as its caller says it."""

from dataclasses import dataclass

from s3_agent_memory.domain.consolidation import (
    MERGE_COUNT_MAX,
    THRESHOLD_DEFAULT,
    UNDO_DAYS_DEFAULT,
    UNDO_DAYS_MAX,
)
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.errors import ValidationError


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationOptions:
    """What a consolidation may do.

    Attributes:
        kind: look only at memories of this kind; None for all, each kind by itself.
        threshold: how alike two texts that say the same must be in their words or by their vectors, 0 to 1.
        undo_days: how long the run can be undone; then the originals are forgotten. 0 forgets them at once.
        merge_count_max: at most so many merges; the next run goes on.
    """

    kind: Kind | None = None
    threshold: float = THRESHOLD_DEFAULT
    undo_days: float = UNDO_DAYS_DEFAULT
    merge_count_max: int = MERGE_COUNT_MAX

    def __post_init__(self) -> None:
        """Check what was given.

        Raises:
            ValidationError: a value is outside its range.
        """
        _check_number(self.threshold, "threshold", 1)
        _check_number(self.undo_days, "undo_days", UNDO_DAYS_MAX)
        if type(self.merge_count_max) is not int or not 1 <= self.merge_count_max <= MERGE_COUNT_MAX:
            raise ValidationError(f"merge_count_max must be a whole number from 1 to {MERGE_COUNT_MAX}")


def _check_number(value: object, name: str, maximum: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= maximum:
        raise ValidationError(f"{name} must be a number from 0 to {maximum:g}")
