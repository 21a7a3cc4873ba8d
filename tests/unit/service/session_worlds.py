"""Conversations over a store with a settable clock and scripted faults."""

from typing import Any

from s3_agent_memory.bootstrap import Parts, Settings
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.scopes import Contributor, Level, Scope
from s3_agent_memory.domain.session_keys import Session, session_of
from s3_agent_memory.domain.tiers import TierSettings
from s3_agent_memory.domain.window import Window
from s3_agent_memory.service.conversations.digest_worker import RESERVE_MS, DigestOutcome
from s3_agent_memory.service.conversations.parts import ConversationParts
from s3_agent_memory.service.conversations.recollection import WriteReceipt
from s3_agent_memory.service.upkeep.housekeeper import Folding
from s3_agent_memory.storage.in_memory import InMemoryObjectStore
from tests.fakes.clock import FakeClock
from tests.fakes.entropy import SeededEntropy
from tests.fakes.faulty_store import FaultyObjectStore

PLACE = Namespace(("team",))
SESSION = session_of(PLACE, "s1")
ALICE = Contributor(principal="alice", agent_client_id="chef")
BOB = Contributor(principal="bob", agent_client_id="chef")
# A turn of one word costs 5 to 8 of these.
SMALL = TierSettings(token_budget=40, compaction_target=15, digest_retention=2)


def plenty() -> int:
    """Return more milliseconds than anything takes."""
    return 10 * RESERVE_MS


class SessionWorld:
    """One store with conversations.

    Attributes:
        store: where faults are scripted.
        parts: the services under test.
    """

    def __init__(self, settings: TierSettings = SMALL, **options: Any) -> None:
        self.clock = FakeClock()
        self.store = FaultyObjectStore(InMemoryObjectStore(self.clock))
        self.settings = settings
        self.memory_parts = Parts(
            Settings(url="memory://"),
            store=self.store,
            folding=Folding.INLINE,
            clock=self.clock,
            entropy=SeededEntropy(1),
            **options,
        )
        parts = self.memory_parts
        self.parts = ConversationParts.assemble(parts.runtime, parts.memories, parts.services, settings=settings)

    def write(
        self, *contents: str, by: Contributor = ALICE, session_id: str | None = "s1", **options: Any
    ) -> WriteReceipt:
        """Write turns of a user."""
        said = [("user", content) for content in contents]
        return self.parts.service.write(PLACE, session_id, said, contributor=by, **options)

    def fill(self, count: int, *, by: Contributor = ALICE, start: int = 0, **options: Any) -> None:
        """Write numbered turns one by one."""
        for number in range(start, start + count):
            self.write(f"turn{number}", by=by, **options)

    def digest(self, session: Session = SESSION) -> DigestOutcome:
        """Do what the digester does when an event names the session."""
        return self.parts.worker.run([session], plenty)

    def sweep(self) -> None:
        """Do what the digester does on schedule."""
        assert self.parts.sweeper.run(plenty).failed == ()

    @property
    def window(self) -> Window:
        """The window of the session as it lies in the store."""
        return self.parts.worker._sessions.window(SESSION).window

    def said(self, session_id: str = "s1", **scope: Any) -> list[str]:
        """Return the contents of the window as a reader gets them."""
        asked = Scope(level=Level.SESSION, session_id=session_id, **scope)
        window = self.parts.service.recall(PLACE, asked, "").window
        return [turn.content for turn in window or ()]

    def facts(self) -> list[str]:
        """Return the contents of all long-term memories, sorted."""
        found = self.parts.service.list(PLACE, Scope(level=Level.STORE)).facts or ()
        return sorted(fact.memory.content for fact in found)

    def summary(self) -> str:
        """Return the summary of the session."""
        found = self.parts.service.recall(PLACE, Scope(level=Level.SESSION, session_id="s1"), "").summary
        return found or ""

    def keys(self, part: str = "") -> list[str]:
        """Return the keys of conversations that contain a text."""
        return [key for key in self.store.keys_below("sessions/") if part in key]

    def holds(self, text: str) -> list[str]:
        """Return the keys of all objects that hold a text."""
        found = ((key, self.store.inner.get(key, size_max=2**30)) for key in self.store.keys_below())
        return [key for key, item in found if item is not None and text.encode() in item.body]
