"""How conversations are remembered: the marks of the window, digests, and what a request may leave out."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self, TypeVar

from s3_agent_memory import names
from s3_agent_memory.errors import ValidationError

_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off"})
_COUNT_MAX: Final = 1_000_000
_C = TypeVar("_C", int, None)


class FailureMode(StrEnum):
    """``soft`` answers without a tier that failed and says so, ``strict`` fails the request."""

    SOFT = "soft"
    STRICT = "strict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """When turns leave a window: above ``high_tokens`` to ``low_tokens``, above ``turn_count_max`` to half of it."""

    high_tokens: int
    low_tokens: int
    turn_count_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TierSettings:
    """Settings of the three tiers.

    Attributes:
        token_budget: most tokens of a window, and of a read of one.
        hard_event_cap: most turns of a window.
        compaction_trigger: a window with more tokens than this loses its oldest turns; None means the budget.
        compaction_target: down to this; None means half the budget.
        rolling_summary: whether turns that leave a window are folded into the session's digest.
        digest_retention: how many versions of a digest are kept.
        require_principal, require_agent_identity: whether every request must name them.
        default_failure_mode: of requests that name none.
        default_top_k: facts that a recall returns.
        score_threshold: facts with a lower score are not returned.
        long_term_enabled: whether anything is kept in, and recalled from, long-term memory.
    """

    token_budget: int = 4_096
    hard_event_cap: int = 2_000
    compaction_trigger: int | None = None
    compaction_target: int | None = None
    rolling_summary: bool = True
    digest_retention: int = 20
    require_principal: bool = False
    require_agent_identity: bool = False
    default_failure_mode: FailureMode = FailureMode.SOFT
    default_top_k: int = 10
    score_threshold: float = 0.0
    long_term_enabled: bool = True

    def __post_init__(self) -> None:
        marks = self.marks
        if not 0 < marks.low_tokens < marks.high_tokens <= self.token_budget:
            raise ValidationError(
                "the marks of a window must keep 0 < compaction_target < compaction_trigger <= token_budget; "
                f"they are {marks.low_tokens}, {marks.high_tokens} and {self.token_budget}"
            )
        if not 1 <= self.default_top_k <= 100:
            raise ValidationError(f"{names.ENV_DEFAULT_TOP_K} must be a whole number from 1 to 100")

    @property
    def marks(self) -> Marks:
        """When turns leave a window."""
        high = self.token_budget if self.compaction_trigger is None else self.compaction_trigger
        low = self.token_budget // 2 if self.compaction_target is None else self.compaction_target
        return Marks(high_tokens=high, low_tokens=low, turn_count_max=self.hard_event_cap)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Return the settings that the environment variables of ``names`` describe.

        Raises:
            ValidationError: one is wrong; the message names it and says what is allowed.
        """
        usual = cls()
        return cls(
            token_budget=_count(environ, names.ENV_TOKEN_BUDGET, usual.token_budget),
            hard_event_cap=_count(environ, names.ENV_HARD_EVENT_CAP, usual.hard_event_cap),
            compaction_trigger=_count(environ, names.ENV_COMPACTION_TRIGGER, None),
            compaction_target=_count(environ, names.ENV_COMPACTION_TARGET, None),
            rolling_summary=_flag(environ, names.ENV_ROLLING_SUMMARY, default=usual.rolling_summary),
            digest_retention=_count(environ, names.ENV_DIGEST_RETENTION, usual.digest_retention),
            require_principal=_flag(environ, names.ENV_REQUIRE_PRINCIPAL, default=False),
            require_agent_identity=_flag(environ, names.ENV_REQUIRE_AGENT_IDENTITY, default=False),
            default_failure_mode=_failure_mode(environ),
            default_top_k=_count(environ, names.ENV_DEFAULT_TOP_K, usual.default_top_k),
            score_threshold=_score(environ),
            long_term_enabled=_flag(environ, names.ENV_LONG_TERM_ENABLED, default=True),
        )


def _count(environ: Mapping[str, str], name: str, default: _C) -> int | _C:
    text = environ.get(name, "").strip()
    if not text:
        return default
    count = int(text) if text.isascii() and text.isdigit() and len(text) <= 7 else 0
    if not 1 <= count <= _COUNT_MAX:
        raise ValidationError(f"{name} must be a whole number from 1 to {_COUNT_MAX}")
    return count


def _flag(environ: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = environ.get(name, "").strip().lower()
    if text and text not in _TRUE | _FALSE:
        raise ValidationError(f"{name} must be true or false")
    return text in _TRUE if text else default


def _failure_mode(environ: Mapping[str, str]) -> FailureMode:
    try:
        return FailureMode(environ.get(names.ENV_DEFAULT_FAILURE_MODE, "").strip().lower() or FailureMode.SOFT)
    except ValueError:
        raise ValidationError(f"{names.ENV_DEFAULT_FAILURE_MODE} must be soft or strict") from None


def _score(environ: Mapping[str, str]) -> float:
    try:
        score = float(environ.get(names.ENV_SCORE_THRESHOLD, "").strip() or 0.0)
    except ValueError:
        score = math.nan
    # No comparison holds for NaN.
    if not 0.0 <= score <= 1.0:
        raise ValidationError(f"{names.ENV_SCORE_THRESHOLD} must be a number from 0 to 1")
    return score
