"""The whole system on one machine: all functions in one process, HTTP in, events and schedules between them.

Run it with ``make run`` or ``python functions/local_stack.py``. ``LocalSettings`` says what the environment sets, the
store is chosen like everywhere else (``S3_AGENT_MEMORY_URL``, a directory by default).
"""

import hashlib
import logging
import math
import os
import shlex
import signal
import sys
import threading
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

if not __package__:
    # As a script, Python looks for modules beside this file instead of in the project.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from functions.local_embedding import choose_embedder
from functions.local_function import LocalFunction
from functions.local_gateway import ADDRESS, LocalGateway, PortInUseError, access_logger
from functions.local_queue import DIGESTER_RULE, EMBEDDER_RULE, WINDOW_SECONDS, ChangeQueue
from functions.local_schedule import Schedule
from s3_agent_memory import bootstrap, names
from s3_agent_memory.edge import aws_events, token_file
from s3_agent_memory.errors import ValidationError

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
API_SECONDS: Final = 29.0
EVENT_SECONDS: Final = 60.0
EMBEDDER_SECONDS: Final = 900.0
DIGESTER_SECONDS: Final = 900.0
CONSOLIDATOR_SECONDS: Final = 900.0
# How soon the gateway notices that it is to stop.
POLL_SECONDS: Final = 0.1
_LOOK_SECONDS: Final = 1.0
# Less would leave no time for anything else, more is surely a mistake.
INTERVAL_SECONDS_MIN: Final = 0.1
SECONDS_MAX: Final = 31_536_000
TOKEN_NAMESPACE: Final = "default"
_EVENT_FUNCTIONS: Final = ("indexer", "pruner", "sweeper")
_REQUEST_FUNCTIONS: Final = ("http_api", "authorizer", "mcp_endpoint")
_URL_NAME: Final = "S3_AGENT_MEMORY_URL"
_TOKEN_FOLDER: Final = Path(".agent-memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSettings:
    """What the environment may set.

    Attributes:
        port: ``PORT``; 0 takes any free one.
        prune_seconds: ``PRUNE_INTERVAL_SECONDS`` between two runs of the pruner.
        sweep_seconds: ``SWEEP_INTERVAL_SECONDS`` between two runs of the sweeper.
        consolidate_seconds: ``CONSOLIDATE_INTERVAL_SECONDS`` between two runs of the consolidator.
        window_seconds: ``INDEX_WINDOW_SECONDS`` for which changes are collected before the indexer sees them.
    """

    port: int = 8787
    prune_seconds: float = 60.0
    sweep_seconds: float = 300.0
    consolidate_seconds: float = 86_400.0
    window_seconds: float = WINDOW_SECONDS

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Return the settings.

        Raises:
            ValueError: one is not what it may be; the message names it.
        """
        usual = cls()
        least = INTERVAL_SECONDS_MIN
        return cls(
            port=_port(environ, usual.port),
            prune_seconds=_seconds(environ, "PRUNE_INTERVAL_SECONDS", usual.prune_seconds, least=least),
            sweep_seconds=_seconds(environ, "SWEEP_INTERVAL_SECONDS", usual.sweep_seconds, least=least),
            consolidate_seconds=_seconds(
                environ, "CONSOLIDATE_INTERVAL_SECONDS", usual.consolidate_seconds, least=least
            ),
            window_seconds=_seconds(environ, "INDEX_WINDOW_SECONDS", usual.window_seconds, least=0),
        )


def _port(environ: Mapping[str, str], default: int) -> int:
    text = environ.get("PORT") or str(default)
    port = int(text) if text.isascii() and text.isdigit() and len(text) <= 5 else -1
    if not 0 <= port <= 65_535:
        raise ValueError("PORT must be a whole number from 0 to 65535")
    return port


def _seconds(environ: Mapping[str, str], name: str, default: float, *, least: float) -> float:
    try:
        seconds = float(environ.get(name) or default)
    except ValueError:
        seconds = math.nan
    # No comparison holds for NaN.
    if not least <= seconds <= SECONDS_MAX:
        raise ValueError(f"{name} must be a number of seconds from {least:g} to {SECONDS_MAX}")
    return seconds


class LocalStack:
    """All functions, and what moves requests and events between them."""

    def __init__(self, settings: LocalSettings, *, store_url: str) -> None:
        indexer, pruner, sweeper = (_function(name, EVENT_SECONDS) for name in _EVENT_FUNCTIONS)
        api, authorizer, mcp = (_function(name, API_SECONDS) for name in _REQUEST_FUNCTIONS)
        self.gateway = LocalGateway(settings.port, api=api, authorizer=authorizer, mcp=mcp, monotonic=time.monotonic)
        # The port may be known only now, and the MCP endpoint tells its clients where it is.
        os.environ.setdefault(names.ENV_PUBLIC_URL, f"http://{ADDRESS}:{self.gateway.port}")
        self._server = threading.Thread(target=self.gateway.serve_forever, args=(POLL_SECONDS,), name="gateway")
        self._embedder = _function("embedder", EMBEDDER_SECONDS)
        digester = _function("digester", DIGESTER_SECONDS)
        consolidator = _function("consolidator", CONSOLIDATOR_SECONDS)
        root, window_seconds = aws_events.key_root(store_url), settings.window_seconds
        self._queue = ChangeQueue(indexer, root=root, window_seconds=window_seconds)
        self._segment_queue = ChangeQueue(self._embedder, rule=EMBEDDER_RULE, root=root, window_seconds=window_seconds)
        self._turns_queue = ChangeQueue(digester, rule=DIGESTER_RULE, root=root, window_seconds=window_seconds)
        self._schedules = (
            Schedule(digester, interval_seconds=settings.sweep_seconds),
            Schedule(pruner, interval_seconds=settings.prune_seconds),
            Schedule(sweeper, interval_seconds=settings.sweep_seconds),
            Schedule(consolidator, interval_seconds=settings.consolidate_seconds),
        )
        # Only stores opened after this report their changes, and a handler opens its store when it is imported.
        bootstrap.observe_changes(self._queue.put)
        bootstrap.observe_changes(self._segment_queue.put)
        bootstrap.observe_changes(self._turns_queue.put)
        for function in (indexer, self._embedder, digester, pruner, sweeper, consolidator, api, authorizer, mcp):
            function.load()

    def start(self) -> None:
        """Start to work; requests are answered when this returns."""
        self._queue.start()
        self._segment_queue.start()
        self._turns_queue.start()
        for schedule in self._schedules:
            schedule.start()
        self._server.start()

    def stop(self) -> None:
        """Finish what is being worked on, index what is pending, and return when all is done.

        What is not embedded yet is left to the next start: it may take long, and is found by its words meanwhile.
        """
        self.gateway.stop()
        self._server.join()
        for schedule in self._schedules:
            schedule.close()
        # What it makes of the last turns is still indexed.
        self._turns_queue.close()
        self._queue.close()
        self._embedder.hurry()
        self._segment_queue.drop()


def _function(name: str, timeout_seconds: float) -> LocalFunction:
    return LocalFunction(name, timeout_seconds=timeout_seconds, monotonic=time.monotonic)


def main() -> int:
    """Run until interrupted, and return the exit code: 0, 1 if the store failed, 2 for wrong settings."""
    if len(sys.argv) > 1:
        return _fail(
            f"{sys.argv[1]!r} means nothing here: the stack has no options, but environment variables such as PORT",
            EXIT_USAGE,
        )
    _prepare_environment()
    _prepare_logs()
    search = choose_embedder(os.environ)
    try:
        settings = LocalSettings.from_environment(os.environ)
        store_settings = bootstrap.Settings.from_environment()
        stack = LocalStack(settings, store_url=store_settings.url)
        token_path = _token_path(store_settings)
        is_new = token_file.ensure_token(
            token_path, bootstrap.build_token_service(), principal="local", namespace=TOKEN_NAMESPACE
        )
    except (ValueError, ValidationError) as error:
        return _fail(str(error), EXIT_USAGE)
    except PortInUseError as error:
        return _fail(f"{error}; choose another one with PORT=...", EXIT_USAGE)
    except Exception as error:  # noqa: BLE001  # A store fails in its own ways; the reason is for the reader.
        return _fail(f"the store cannot be used: {error}", EXIT_FAILED)
    _run(stack, _banner(stack.gateway.port, store_settings.url, token_path, search=search, is_new=is_new))
    return 0


def _prepare_environment() -> None:
    os.environ.setdefault("POWERTOOLS_METRICS_DISABLED", "true")
    os.environ.setdefault("POWERTOOLS_LOG_LEVEL", "WARNING")
    if os.environ.get(_URL_NAME) == "memory://":
        # Every opening of a nameless store in memory is a new one, but the functions must share theirs.
        os.environ[_URL_NAME] = "memory://local-stack"


def _prepare_logs() -> None:
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", datefmt="%Y-%m-%dT%H:%M:%S%z"))
    access_logger.addHandler(handler)
    access_logger.setLevel(logging.INFO)
    access_logger.propagate = False
    # A function that fails has no metrics, and nobody here waits for them.
    warnings.filterwarnings("ignore", message="No application metrics to publish")


def _run(stack: LocalStack, banner: str) -> None:
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    stack.start()
    _say(banner)
    # Without a limit the wait could sleep through a signal that another thread took.
    while not stopping.wait(_LOOK_SECONDS):
        pass
    # A second interrupt ends the process at once.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    _say("stopping: finishing requests and indexing what is pending")
    stack.stop()


def _say(text: str) -> None:
    try:
        print(text, flush=True)
    except OSError:
        # Nobody reads any more, which must not keep the stack from stopping. Python flushes once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _token_path(settings: bootstrap.Settings) -> Path:
    directory = bootstrap.store_directory(settings)
    if directory is not None:
        return directory / "token"
    # Each store has tokens of its own, so no two may share a file.
    return _TOKEN_FOLDER / f"token.{hashlib.sha256(settings.url.encode()).hexdigest()[:8]}"


def _banner(port: int, store_url: str, token_path: Path, *, search: str, is_new: bool) -> str:
    base = f"http://{ADDRESS}:{port}"
    authorization = f'"Authorization: Bearer $(cat {shlex.quote(str(token_path))})"'
    curl = f"curl -sS -H {authorization} -H 'Content-Type: application/json'"
    return f"""s3-agent-memory runs at {base}
  data   {store_url}
  search {search}
  token  {token_path} ({"new" if is_new else "as before"}; namespace {TOKEN_NAMESPACE!r}: read, write)
  API    {base}/openapi.json
  MCP    {base}/mcp

Remember:
  {curl} {base}/v1/memories -d '{{"content": "Alice prefers metric units", "tags": ["prefs"]}}'

Recall:
  {curl} {base}/v1/memories/search -d '{{"query": "which units?"}}'

Connect Claude Code:
  claude mcp add --transport http memory {base}/mcp --header {authorization}

Ctrl-C stops it."""


def _fail(message: str, code: int) -> int:
    print(f"error: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
