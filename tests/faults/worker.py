"""One writer at work: changes memories of its own and some that all share, and reads what it was told is there."""

from collections.abc import Callable
from contextlib import suppress
from operator import eq
from random import Random
from time import perf_counter

from s3_agent_memory.errors import BackendError, NotFoundError, ThrottledError
from tests.faults.book import Book
from tests.faults.deck import Deck
from tests.faults.memories import DisconnectedError, InDoubtError, Memories, RefusedError

SHARED_IDS = tuple(f"shared-{number}" for number in range(3))
DOOMED_IDS = tuple(f"doomed-{number}" for number in range(3))
FINDING_COUNT_MAX = 20
# What the storage may be to blame for; anything else must have a reason in the book.
_TEMPORARY = frozenset({ThrottledError.code, BackendError.code})
_Step = Callable[[], None]


def mark_of(memory_id: str, name: str) -> str:
    """Return the entry of the book for the mark of a writer on a shared memory."""
    return f"{memory_id}#{name}"


class Worker:
    """Does one thing after the other, chosen at random, and keeps its book.

    Args:
        name: of this worker, unique among all; seeds its choices.
        slot: names the writer whose book this is, and its marks; a worker that replaces another has the same.
        live_count_max: with more memories than this it only forgets.
        deck: of the network that only this worker uses, to compare its doubts with.

    Attributes:
        book: what may be there.
        findings: answers that cannot be.
        timings: name and seconds of each request.
    """

    def __init__(
        self,
        memories: Memories,
        book: Book,
        *,
        name: str,
        slot: str,
        live_count_max: int = 60,
        deck: Deck | None = None,
    ) -> None:
        self.book = book
        self.findings: list[str] = []
        self.timings: list[tuple[str, float]] = []
        self._memories = memories
        self._name = name
        self._slot = slot
        self._live_count_max = live_count_max
        self._random = Random(name)
        self._deck = deck
        self._count = 0
        self._word = ""
        self._steps: dict[_Step, int] = {
            self._remember: 6,
            self._remember_as: 2,
            self._update: 5,
            self._mark: 3,
            self._forget: 3,
            self._get: 3,
            self._search: 5,
            self._search_forgotten: 1,
            self._list: 1,
        }

    def step(self) -> None:
        """Do one thing.

        Raises:
            DisconnectedError: the service went away.
        """
        self._count += 1
        self._word = f"{self._name}n{self._count}"
        (action,) = self._random.choices(list(self._steps), weights=list(self._steps.values()))
        if len(self._own()) > self._live_count_max:
            action = self._forget
        started = perf_counter()
        try:
            action()
        except RefusedError as error:
            if error.code not in _TEMPORARY:
                self._find(f"{action.__name__} was refused: {error}")
        except DisconnectedError:
            raise
        except InDoubtError as error:
            self._find(f"{action.__name__} changes nothing, and yet: {error}")
        finally:
            self.timings.append((action.__name__.strip("_"), perf_counter() - started))

    def doom(self, memory_id: str, *, is_forgotten: bool) -> None:
        """Change a memory that others forget, or forget it."""
        with suppress(RefusedError, InDoubtError):
            if is_forgotten:
                self._memories.forget(memory_id)
                self.book.gone.add(memory_id)
            else:
                self._memories.update(memory_id, "late")

    def _remember(self) -> None:
        self._change(None, self._word, lambda: self._memories.remember(self._word))

    def _remember_as(self) -> None:
        memory_id = f"id-{self._word}"
        self._change(memory_id, self._word, lambda: self._memories.remember(self._word, memory_id))

    def _update(self) -> None:
        def update(entry: str) -> None:
            self._change(entry, self._word, lambda: self._memories.update(entry, self._word))

        self._with_own(update)

    def _forget(self) -> None:
        self._with_own(lambda entry: self._change(entry, None, lambda: self._memories.forget(entry)))

    def _mark(self) -> None:
        memory_id = self._random.choice(SHARED_IDS)

        def mark() -> None:
            version = self._memories.mark(memory_id, self._slot, self._word)
            self.book.note_version(memory_id, version)

        self._change(mark_of(memory_id, self._slot), self._word, mark)

    def _get(self) -> None:
        def check(entry: str) -> None:
            found = self._memories.content(entry)
            if not self.book.may_be(entry, found):
                self._find(f"get of {entry} is {found!r}")

        self._with_own(check)

    def _search(self) -> None:
        """Whatever was acknowledged is found, from the moment on in which it was."""
        certain = [(entry, content) for entry, content in self.book.certain.items() if "#" not in entry]
        if certain:
            # The newest is the one that an index could have missed.
            entry, content = certain[-1] if self._random.random() < 0.5 else self._random.choice(certain)
            if entry not in self._memories.search(content):
                self._find(f"search for {content} does not find {entry}")

    def _search_forgotten(self) -> None:
        forgotten = sorted(self.book.forgotten)
        listed = self._memories.search("") if forgotten else []
        self._find_if(set(forgotten) & set(listed), "found, but forgotten")

    def _list(self) -> None:
        listed = self._memories.list_all()
        certain = {entry for entry in self.book.certain if "#" not in entry}
        self._find_if(certain - set(listed), "not listed")
        self._find_if(self.book.forgotten & set(listed), "listed, but forgotten")
        if len(set(listed)) < len(listed):
            self._find("something is listed twice")

    def _own(self) -> list[str]:
        """Return the ids of memories that may be there."""
        return [entry for entry, states in self.book.states.items() if states != {None} and "#" not in entry]

    def _with_own(self, action: Callable[[str], None]) -> None:
        own = self._own()
        if own:
            action(self._random.choice(own))

    def _change(self, entry: str | None, content: str | None, action: Callable[[], str | None]) -> None:
        self.book.intend(entry, content)
        evidence = self._evidence()
        try:
            made = action()
        except RefusedError as error:
            self.book.refuse()
            # An earlier change without an answer may be the reason.
            is_explained = error.code == NotFoundError.code and entry is not None and self.book.may_be(entry, None)
            if not is_explained:
                raise
        except DisconnectedError:
            self.book.settle()
            raise
        except InDoubtError as error:
            self.book.settle()
            if self._deck is not None and any(map(eq, self._evidence(), evidence)):
                self._find(f"in doubt without a reason: {error}")
        else:
            self.book.acknowledge(entry or made or "")

    def _evidence(self) -> tuple[int, int]:
        """Return figures that both rise when a write was sent and something went wrong."""
        return (0, 0) if self._deck is None else (self._deck.write_count, self._deck.counts.total())

    def _find_if(self, entries: set[str], what: str) -> None:
        if entries:
            self._find(f"{what}: {sorted(entries)[:5]}")

    def _find(self, what: str) -> None:
        if len(self.findings) < FINDING_COUNT_MAX:
            self.findings.append(f"{self._name}, step {self._count}: {what}")
