"""What a store may hold, by what one writer was told about its own memories.

Each entry of the book is something that only this writer changes: a memory (by its id), or the writer's own mark on a
memory that all share. Its content is a text, or None if it is not there. After an answer there is one content that it
can have; after a change without an answer there are several.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Book:
    """The book of one writer.

    Attributes:
        states: the contents each entry may have.
        newcomers: contents of memories that may have been created under an id nobody was told.
        gone: ids of shared memories whose deletion was acknowledged.
        versions: version of each acknowledged change of a shared memory, with its id.
    """

    states: dict[str, set[str | None]] = field(default_factory=dict)
    newcomers: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    versions: list[tuple[str, int]] = field(default_factory=list)
    acknowledged_count: int = 0
    refused_count: int = 0
    doubt_count: int = 0
    _intent: tuple[str | None, str | None] | None = None

    def intend(self, entry: str | None, content: str | None) -> None:
        """Begin a change; the entry is None for a memory whose id is not known yet."""
        self.settle()
        if entry is not None:
            self.states.setdefault(entry, {None})
        self._intent = (entry, content)

    def acknowledge(self, entry: str) -> None:
        """The change is done."""
        assert self._intent is not None
        self.states[entry] = {self._intent[1]}
        self.acknowledged_count += 1
        self._intent = None

    def refuse(self) -> None:
        """The change was refused: nothing has happened."""
        self.refused_count += 1
        self._intent = None

    def settle(self) -> None:
        """Nobody knows whether what was begun last has happened, if there was no word of it."""
        if self._intent is None:
            return
        entry, content = self._intent
        if entry is not None:
            self.states[entry].add(content)
        elif content is not None:
            self.newcomers.add(content)
        self.doubt_count += 1
        self._intent = None

    def may_be(self, entry: str, content: str | None) -> bool:
        """Return True if an entry may have this content."""
        return content in self.states[entry]

    def note_version(self, memory_id: str, version: int) -> None:
        """A change of a shared memory was acknowledged with this version."""
        self.versions.append((memory_id, version))

    @property
    def certain(self) -> dict[str, str]:
        """Content of the entries that are there for certain."""
        contents = {entry: next(iter(states)) for entry, states in self.states.items() if len(states) == 1}
        return {entry: content for entry, content in contents.items() if content is not None}

    @property
    def forgotten(self) -> set[str]:
        """The entries that are not there for certain."""
        return {entry for entry, states in self.states.items() if states == {None}}

    def add(self, other: "Book") -> None:
        """Take in the book of another writer."""
        other.settle()
        assert not self.states.keys() & other.states.keys(), "two writers have one entry"
        self.states |= other.states
        self.newcomers |= other.newcomers
        self.gone |= other.gone
        self.versions += other.versions
        self.acknowledged_count += other.acknowledged_count
        self.refused_count += other.refused_count
        self.doubt_count += other.doubt_count

    def findings(self, present: Mapping[str, str]) -> list[str]:
        """Return what of ``present``, the content of all entries that are there, cannot be."""
        wrong = [
            f"{entry} is {present.get(entry)!r} and can only be one of {sorted(map(repr, states))}"
            for entry, states in self.states.items()
            if present.get(entry) not in states
        ]
        strange = [
            f"{entry} is {content!r}, which was never written or was refused"
            for entry, content in present.items()
            if entry not in self.states and content not in self.newcomers
        ]
        back = [f"{entry} was forgotten and is back" for entry in sorted(self.gone & present.keys())]
        twice = [f"{count} changes made version {pair}" for pair, count in Counter(self.versions).items() if count > 1]
        return [*wrong, *strange, *back, *twice]
