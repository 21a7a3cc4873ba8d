"""A schedule on this machine: invokes a function again and again."""

import logging
import threading
from typing import Any, Final

from functions.local_function import LocalFunction

_EVENT: Final[dict[str, Any]] = {"version": "0", "source": "aws.events", "detail-type": "Scheduled Event", "detail": {}}

logger = logging.getLogger(__name__)


class Schedule:
    """Invokes a function every so many seconds in a thread of its own; a run that fails is logged and forgotten."""

    def __init__(self, function: LocalFunction, *, interval_seconds: float) -> None:
        self._function = function
        self._interval_seconds = interval_seconds
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"schedule-{function.name}")

    def start(self) -> None:
        """Start to count; the first run is one interval away."""
        self._thread.start()

    def close(self) -> None:
        """Let a run that goes on end, and stop."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(self._interval_seconds):
            try:
                self._function.invoke(_EVENT)
            except Exception as error:  # noqa: BLE001  # The next run comes, whatever went wrong in this one.
                logger.warning("scheduled function %s failed: %s", self._function.name, type(error).__name__)
