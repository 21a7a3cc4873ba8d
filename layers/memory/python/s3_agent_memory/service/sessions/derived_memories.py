"""Memories that come out of conversations: made under ids that repeats cannot double, and removed for good."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.codec import Tombstone, encode_tombstone
from s3_agent_memory.domain.ids import new_nonce
from s3_agent_memory.domain.keys import memory_prefix, tombstone_key
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Attribution, Memory, check_memory
from s3_agent_memory.domain.scopes import Contributor
from s3_agent_memory.domain.session_codec import Fact
from s3_agent_memory.domain.session_keys import Session, derived_id, derived_id_prefix
from s3_agent_memory.domain.timestamps import format_timestamp
from s3_agent_memory.errors import ConflictError, PreconditionFailedError, ThrottledError, UnknownOutcomeError
from s3_agent_memory.service.listing import pages
from s3_agent_memory.service.memories.writer import MemoryWriter
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.truth import Truth
from s3_agent_memory.service.workers import Workers

SOURCE: Final = "conversation"
ERASED: Final = "erased"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOrigin:
    """Which batch of which session memories come from."""

    session: Session
    session_id: str | None
    epoch: int
    number: int


class DerivedMemories:
    """Makes and removes the memories of sessions."""

    def __init__(self, runtime: Runtime, truth: Truth, writer: MemoryWriter, workers: Workers) -> None:
        self._runtime = runtime
        self._truth = truth
        self._writer = writer
        self._workers = workers

    def make(self, origin: BatchOrigin, facts: Sequence[Fact]) -> int:
        """Store the memories of an extraction, and return how many are new.

        One that exists is left as it is, and one that was forgotten stays forgotten.

        Raises:
            UnknownOutcomeError, ThrottledError: some may be missing; do it again.
        """
        memories = [self.memory(origin, position, fact) for position, fact in enumerate(facts)]
        return sum(self._workers.each(self._make_one, memories))

    def _make_one(self, memory: Memory) -> bool:
        try:
            self._writer.remember_as(memory)
        except ConflictError:
            return False
        return True

    def memory(self, origin: BatchOrigin, position: int, fact: Fact) -> Memory:
        """Return one memory of an extraction, with its attribution and the batch it comes from.

        Raises:
            ValidationError: what was extracted breaks a rule of memories.
        """
        found = fact.memory
        at = found.at or to_datetime(self._runtime.clock.now_us())
        return check_memory(
            Memory(
                id=derived_id(origin.session, origin.epoch, origin.number, position),
                namespace=origin.session.namespace,
                kind=found.kind,
                content=found.content,
                source=SOURCE,
                importance=found.importance,
                tags=found.tags,
                created_at=at,
                updated_at=at,
                metadata={"epoch": origin.epoch, "batch": origin.number},
                attribution=Attribution(
                    user_id=fact.contributor.principal,
                    agent_id=fact.contributor.agent_client_id,
                    session_id=origin.session_id,
                    author=found.author,
                ),
            ),
            self._runtime.limits,
        )

    def listed(self, session: Session) -> Iterator[tuple[str, Kind]]:
        """Yield id and kind of every memory of a session, as its objects lie in the store."""
        for kind in Kind:
            folder = memory_prefix(session.namespace, kind)
            for page in pages(self._runtime.store, folder + derived_id_prefix(session)):
                for item in page:
                    yield item.key.removeprefix(folder).removesuffix(".json"), kind

    def contributor_of(self, session: Session, memory_id: str, kind: Kind) -> Contributor | None:
        """Return who a memory is from; None if there is none."""
        present = self._truth.memory(session.namespace, kind, memory_id)
        if present is None:
            return None
        attribution = present.memory.attribution
        return Contributor(principal=attribution.user_id, agent_client_id=attribution.agent_id)

    def ban_all(self, session: Session, kinds: Mapping[str, Kind], *, deadline_s: float) -> None:
        """Remove memories by id and kind; see ``ban``.

        Raises:
            ThrottledError: the time is up; the same call goes on where this one stopped.
        """

        def ban(item: tuple[str, Kind]) -> None:
            if self._runtime.clock.monotonic_s() > deadline_s:
                raise ThrottledError("the time for this erasure is up; send it again to go on")
            self.ban(session, *item)

        self._workers.each(ban, list(kinds.items()))

    def ban(self, session: Session, memory_id: str, kind: Kind) -> None:
        """Remove a memory, and keep it from being made by anybody who is late: the tombstone comes first.

        Raises:
            UnknownOutcomeError, ThrottledError: it may still be there; do it again.
        """
        namespace = session.namespace
        tombstone = Tombstone(
            id=memory_id,
            kind=kind,
            deletes_version=1,
            forgotten_at=format_timestamp(to_datetime(self._runtime.clock.now_us())),
            reason=ERASED,
            nonce=new_nonce(self._runtime.entropy),
        )
        key = tombstone_key(namespace, memory_id)
        for _ in self._runtime.retrier.attempts("write a tombstone"):
            try:
                self._runtime.store.put(key, encode_tombstone(tombstone), if_absent=True)
            except PreconditionFailedError:
                if self._truth.tombstone(namespace, memory_id) is None:
                    continue
            except (ThrottledError, UnknownOutcomeError):
                continue
            break
        # A writer that is late looks at the tombstone once more after its write and takes it back.
        self._writer.forget(namespace, memory_id, kind=kind, reason=ERASED)
