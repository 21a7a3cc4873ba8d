"""One Lambda function on this machine: its handler, one invocation at a time, within a time limit it can ask for."""

import importlib
import itertools
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from aws_lambda_powertools.metrics import EphemeralMetrics

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]

MEMORY_MB: Final = 1_769


class LocalContext:
    """What a handler may ask its Lambda context for."""

    memory_limit_in_mb = MEMORY_MB

    def __init__(self, name: str, request_id: str, remaining_seconds: Callable[[], float]) -> None:
        self.function_name = name
        self.aws_request_id = request_id
        self.invoked_function_arn = f"arn:aws:lambda:local:000000000000:function:{name}"
        self._remaining_seconds = remaining_seconds

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until the time limit, at least 0."""
        return max(0, int(self._remaining_seconds() * 1_000))


class LocalFunction:
    """Invokes a handler as Lambda does: JSON in and out, one invocation at a time.

    Args:
        name: of the folder below ``functions`` whose ``handler`` module is the function.
        timeout_seconds: how long an invocation may believe to have.
        monotonic: returns seconds that never go back.
        handler: to call instead of the one in the folder.
    """

    def __init__(
        self, name: str, *, timeout_seconds: float, monotonic: Callable[[], float], handler: Handler | None = None
    ) -> None:
        self.name = name
        self._monotonic = monotonic
        self._handler = handler
        self._metrics: EphemeralMetrics | None = None
        self._timeout_seconds = timeout_seconds
        self._numbers = itertools.count(1)
        self._is_hurried = False
        # The event handlers of the functions keep the current request in class attributes.
        self._lock = threading.Lock()

    def load(self) -> Handler:
        """Import the handler, as a cold start does, and return it."""
        if self._handler is None:
            module = importlib.import_module(f"functions.{self.name}.handler")
            self._handler, self._metrics = module.lambda_handler, module.metrics
        return self._handler

    def hurry(self) -> None:
        """Let every invocation, also the one under way, see that its time is up."""
        self._is_hurried = True

    def invoke(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the handler answers; what it raises escapes."""
        # The round trip shows at once what would not survive the way through Lambda.
        received = json.loads(json.dumps(event))
        with self._lock:
            answer = self._call(received)
        sent: dict[str, Any] = json.loads(json.dumps(answer))
        return sent

    def _call(self, event: dict[str, Any]) -> dict[str, Any]:
        try:
            return self.load()(event, self._context())
        finally:
            # Metrics that are not published are kept, and printed all the same when there are a hundred.
            if self._metrics is not None:
                self._metrics.clear_metrics()

    def _context(self) -> LocalContext:
        ends_at = self._monotonic() + self._timeout_seconds
        request_id = f"local-{self.name}-{next(self._numbers)}"
        return LocalContext(self.name, request_id, lambda: 0.0 if self._is_hurried else ends_at - self._monotonic())
