"""Scheduled rounds over all namespaces: stop before the time is up, go on from there the next time."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from s3_agent_memory import names
from s3_agent_memory.domain.json_values import decode_json, encode_json
from s3_agent_memory.domain.keys import Namespace, format_namespace
from s3_agent_memory.errors import AgentMemoryError, ValidationError
from s3_agent_memory.service.namespaces import due
from s3_agent_memory.service.runtime import Runtime

# A namespace is not begun with less than this left: most take far less.
RESERVE_MS: Final = 20_000
# What may take any time before that leaves this much for it.
PRELUDE_RESERVE_MS: Final = 3 * RESERVE_MS
_CURSOR_BYTES_MAX: Final = 4_096
_NAMESPACE_COUNT_MAX: Final = 1_000_000

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundReport:
    """What one run of a round did.

    Attributes:
        namespaces: how many were worked on.
        changed: what the job counts, summed up (memories pruned, rows repaired).
        failed: namespaces whose work failed; the others went on.
        is_complete: True if the round reached its end; the next run begins a new one.
    """

    namespaces: int
    changed: int
    failed: tuple[str, ...]
    is_complete: bool


class Round:
    """Runs one job for each namespace, over as many runs as it takes.

    Args:
        prelude: done before the job of each namespace; it stops when told that the time is up.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        name: str,
        job: Callable[[Namespace], int],
        prelude: Callable[[Namespace, Callable[[], bool]], object] = lambda *_: None,
    ) -> None:
        self._runtime = runtime
        self._prelude = prelude
        self._cursor_key = names.ROUND_PREFIX + name
        self._job = job

    def run(self, remaining_ms: Callable[[], int]) -> RoundReport:
        """Work on namespaces until all are done or the time runs out.

        Args:
            remaining_ms: returns the milliseconds left.
        """
        done = changed = 0
        failed: list[str] = []
        last_key = self._load_cursor()
        for key, namespace in due(self._runtime, start_after=last_key):
            if remaining_ms() < RESERVE_MS or done >= _NAMESPACE_COUNT_MAX:
                self._save_cursor(last_key)
                return RoundReport(namespaces=done, changed=changed, failed=tuple(failed), is_complete=False)
            try:
                self._prelude(namespace, lambda: remaining_ms() > PRELUDE_RESERVE_MS)
                changed += self._job(namespace)
            except AgentMemoryError as error:
                logger.warning("%s of %s failed: %s", self._cursor_key, format_namespace(namespace), error.code)
                failed.append(format_namespace(namespace))
            done, last_key = done + 1, key
        self._save_cursor("")
        return RoundReport(namespaces=done, changed=changed, failed=tuple(failed), is_complete=True)

    def _load_cursor(self) -> str:
        found = self._runtime.store.get(self._cursor_key, size_max=_CURSOR_BYTES_MAX)
        try:
            document = decode_json(found.body) if found else None
        except ValidationError:
            document = None
        after = document.get("after") if isinstance(document, dict) else None
        return after if isinstance(after, str) and after.isascii() else ""

    def _save_cursor(self, after: str) -> None:
        """Save where to go on; two runs at once may overwrite each other, which repeats or skips a part once."""
        self._runtime.store.put(self._cursor_key, encode_json({"schema": 1, "after": after}))
