"""Which requests may be sent again, and after how long."""

from dataclasses import dataclass
from typing import Final

import httpx

# Nothing of the request has left when these are raised.
UNSENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_PASSING_STATUSES: Final = frozenset({408, 429, 500, 502, 503, 504})
_RETRY_AFTER_SECONDS_MAX: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often and how patiently a request is tried.

    Attributes:
        attempt_count_max: attempts in all, the first included.
        base_seconds: the wait before the second attempt is random up to this; it doubles from there.
        cap_seconds: no wait is longer than this.
    """

    attempt_count_max: int = 3
    base_seconds: float = 0.2
    cap_seconds: float = 2.0

    def wait_seconds(self, attempt: int, fraction: float, response: httpx.Response | None) -> float:
        """Return the wait after an attempt, counted from 0; what the service asks for comes on top.

        Args:
            fraction: random, from 0 to 1, so that clients who failed together do not come back together.
        """
        jitter: float = fraction * min(self.cap_seconds, self.base_seconds * 2**attempt)
        return jitter + (0.0 if response is None else _retry_after_seconds(response))


def is_passing(status: int) -> bool:
    """Return True if a request with this answer may have a better one next time."""
    return status in _PASSING_STATUSES


def _retry_after_seconds(response: httpx.Response) -> float:
    text = response.headers.get("Retry-After", "")
    is_number = text.isascii() and text.isdigit() and len(text) <= 6
    return min(float(text), _RETRY_AFTER_SECONDS_MAX) if is_number else 0.0
