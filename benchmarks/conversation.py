"""Latency and requests of conversations: writes, writes that send a batch on its way, digestion, recall.

    python benchmarks/conversation.py [--turns 2000] [--delay-ms 0] [--url file://directory] [--json FILE]

Every request to the store is counted. ``--delay-ms`` lets each request of the store in memory take that long, as over a
network; 15 is about what S3 takes. Exit code 1 if a write that evicts nothing sends more than one GET and one PUT.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))

from s3_agent_memory.bootstrap import Parts, Settings, open_object_store
from s3_agent_memory.domain.clock import SystemClock
from s3_agent_memory.domain.keys import parse_namespace
from s3_agent_memory.domain.scopes import Contributor, Level, Scope
from s3_agent_memory.domain.session_keys import session_of
from s3_agent_memory.domain.tiers import TierSettings
from s3_agent_memory.service.conversations.digest_worker import RESERVE_MS
from s3_agent_memory.service.conversations.parts import ConversationParts
from s3_agent_memory.service.conversations.recollection import Tier
from s3_agent_memory.service.upkeep.housekeeper import Folding
from s3_agent_memory.storage.counting import CountingObjectStore, RequestCounts
from s3_agent_memory.storage.port import ObjectStore

NAMESPACE = parse_namespace("benchmark")
WHO = Contributor(principal="ann", agent_client_id="companion")
SESSION_ID = "long"
RECALL_COUNT = 50
_PLACES = ("Lisbon", "Oslo", "Kyoto", "Quito", "Cairo", "Perth", "Riga", "Lima", "Turin", "Accra", "Split")


class DelayedStore:
    """A store whose requests take a while, those that are sent together only once."""

    def __init__(self, inner: ObjectStore, seconds: float) -> None:
        self._inner = inner
        self._seconds = seconds

    def __getattr__(self, name: str) -> Callable[..., object]:
        method = getattr(self._inner, name)

        def delayed(*args: object, **kwargs: object) -> object:
            time.sleep(self._seconds)
            return method(*args, **kwargs)

        return delayed


@dataclass
class Figures:
    """What one kind of call took."""

    name: str
    seconds: list[float] = field(default_factory=list)
    requests: list[RequestCounts] = field(default_factory=list)

    def document(self) -> dict[str, object]:
        """Return them as JSON-able values; requests are means."""
        cuts = statistics.quantiles(self.seconds, n=100) if len(self.seconds) > 1 else self.seconds * 99
        return {
            "operation": self.name,
            "calls": len(self.seconds),
            "p50_ms": cuts[49] * 1_000,
            "p99_ms": cuts[98] * 1_000,
            "get": statistics.mean(item.get_count + item.get_unchanged_count for item in self.requests),
            "put": statistics.mean(item.put_count for item in self.requests),
            "list": statistics.mean(item.list_count for item in self.requests),
            "delete": statistics.mean(item.delete_count for item in self.requests),
        }

    def line(self) -> str:
        """Return them as a line of a table."""
        name, calls, p50_ms, p99_ms, *requests = self.document().values()
        counts = " ".join(f"{count:6.2f}" for count in requests)
        return f"{name:32s} {calls:6d} {p50_ms:8.2f} {p99_ms:8.2f}   {counts}"


class Bench:
    """One store, one long session."""

    def __init__(self, url: str, delay_seconds: float) -> None:
        store = open_object_store(Settings(url=url))
        slow = DelayedStore(store, delay_seconds) if delay_seconds else store
        self.store = CountingObjectStore(slow)  # type: ignore[arg-type]
        parts = Parts(Settings(url=url), store=self.store, folding=Folding.INLINE)
        self.memory_parts = parts
        self.parts = ConversationParts.assemble(parts.runtime, parts.memories, parts.services, settings=TierSettings())
        self.clock = SystemClock()

    def measure(self, figures: Figures, call: Callable[[], object]) -> object:
        """Run a call and note what it took."""
        self.store.reset()
        started = self.clock.monotonic_s()
        result = call()
        figures.seconds.append(self.clock.monotonic_s() - started)
        figures.requests.append(self.store.counts)
        return result


def turn(number: int) -> tuple[str, str]:
    place = _PLACES[number % len(_PLACES)]
    text = f"On day {number} we were in {place}, and I told you about train {number * 7} and what we ate there."
    return ("user" if number % 2 == 0 else "assistant"), text


def run(bench: Bench, turn_count: int) -> list[Figures]:
    """Write a conversation turn by turn, digest it as it goes, then ask about it."""
    plain, evicting = Figures("write"), Figures("write that sends a batch")
    digest = Figures("digestion of a batch")
    session = session_of(NAMESPACE, SESSION_ID)
    for number in range(turn_count):
        kind = Figures("")
        receipt = bench.measure(
            kind,
            lambda number=number: bench.parts.service.write(NAMESPACE, SESSION_ID, [turn(number)], contributor=WHO),
        )
        target = evicting if receipt.scheduled else plain  # type: ignore[attr-defined]
        target.seconds += kind.seconds
        target.requests += kind.requests
        if target is evicting:
            bench.measure(digest, lambda: bench.parts.worker.run([session], lambda: 10 * RESERVE_MS))
            bench.memory_parts.folder.fold(NAMESPACE)
    return [plain, evicting, digest, *recalls(bench, turn_count)]


def recalls(bench: Bench, turn_count: int) -> list[Figures]:
    """Ask for single tiers and for all of them."""
    scope = Scope(level=Level.SESSION, session_id=SESSION_ID)
    tiers = {"recall, short term": [Tier.SHORT_TERM], "recall, long term": [Tier.LONG_TERM], "recall, all tiers": Tier}
    found = []
    for name, wanted in tiers.items():
        figures = Figures(name)
        for number in range(RECALL_COUNT):
            query = f"train {number * turn_count // RECALL_COUNT * 7} in {_PLACES[number % len(_PLACES)]}"
            bench.measure(
                figures,
                lambda query=query, wanted=wanted: bench.parts.service.recall(NAMESPACE, scope, query, tiers=wanted),
            )
        found.append(figures)
    erase = Figures("forget the session")
    bench.measure(erase, lambda: bench.parts.service.forget(NAMESPACE, scope))
    return [*found, erase]


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=2_000, help="turns of the conversation (default 2000)")
    parser.add_argument("--delay-ms", type=float, default=0.0, help="what each request takes (default 0)")
    parser.add_argument("--url", default="memory://", help="of the store (default memory://)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to this file")
    arguments = parser.parse_args()
    measured = run(Bench(arguments.url, arguments.delay_ms / 1_000), arguments.turns)
    # A short conversation evicts nothing.
    found = [figures for figures in measured if figures.seconds]
    print(f"{arguments.turns} turns on {arguments.url}, {arguments.delay_ms:g} ms a request")
    print(f"{'':32s} {'calls':>6s} {'p50 ms':>8s} {'p99 ms':>8s}   {'GET':>6s} {'PUT':>6s} {'LIST':>6s} {'DELETE':>6s}")
    for figures in found:
        print(figures.line())
    if arguments.json:
        document = {"turns": arguments.turns, "rows": [figures.document() for figures in found]}
        arguments.json.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    plain = found[0]
    is_cheap = all(item.get_count <= 1 and item.put_count <= 1 and item.request_count <= 2 for item in plain.requests)
    if not is_cheap:
        print("a write that evicts nothing sends more than one GET and one PUT")
    return 0 if is_cheap else 1


if __name__ == "__main__":
    sys.exit(main())
