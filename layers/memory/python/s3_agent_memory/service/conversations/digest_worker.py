"""The digester: turns that left a window become the next version of the session's digest, and memories.

Events only say "look at this session". The window says what is next: batch ``done + 1``, on top of the digest that it
names as ``head``. Digest and extraction of a batch are written once, and the first writer's content counts, so any
number of digesters with any events fold every batch once and in order.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from s3_agent_memory.domain.ids import new_nonce
from s3_agent_memory.domain.keys import format_namespace
from s3_agent_memory.domain.scopes import Contributor
from s3_agent_memory.domain.session_codec import (
    Digest,
    Fact,
    decode_batch,
    decode_digest,
    decode_facts,
    encode_digest,
    encode_facts,
)
from s3_agent_memory.domain.session_keys import Session, batch_key, digest_key, facts_key
from s3_agent_memory.domain.turns import ExtractedMemory, LongTerm, Turn, by_contributor
from s3_agent_memory.domain.window import Batch, Window, digested
from s3_agent_memory.errors import AgentMemoryError
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.sessions.derived_memories import BatchOrigin, DerivedMemories
from s3_agent_memory.service.sessions.store import PresentWindow, SessionStore, SwapLostError

# A batch is not begun with less than this left: a model may take its time.
RESERVE_MS: Final = 60_000
_STEP_COUNT_MAX: Final = 1_000

logger = logging.getLogger(__name__)


class TurnExtractor(Protocol):
    """Finds in turns what is worth keeping; text in turns is data, whatever it says."""

    def extract(self, turns: Sequence[Turn], attribution: Contributor) -> list[ExtractedMemory]:
        """Return what is worth keeping of turns that one contributor wrote."""


class TurnDigester(Protocol):
    """Sums up a conversation step by step."""

    def digest(self, previous: str, turns: Sequence[Turn]) -> str:
        """Return the digest that takes ``turns`` into ``previous``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestOutcome:
    """What a batch of events led to.

    Attributes:
        batches: batches digested.
        memories: memories made of them.
        failed: sessions to be looked at again.
    """

    batches: int
    memories: int
    failed: tuple[Session, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestTools:
    """What a run digests and extracts with; what it spends on a language model is its own.

    Attributes:
        keeper: keeps turns as they are, for writers who want that.
        digester: None leaves the digest as it is, empty from the beginning.
    """

    extractor: TurnExtractor
    keeper: TurnExtractor
    digester: TurnDigester | None


@dataclass(slots=True)
class _Run:
    """One run: its tools, its time, and what it has done."""

    tools: DigestTools
    remaining_ms: Callable[[], int]
    batches: int = 0
    memories: int = 0


@dataclass(frozen=True, slots=True)
class _Step:
    """The batch that is next, and what is there already."""

    window: Window
    batch: Batch
    previous: Digest | None
    digest: Digest | None
    facts: tuple[Fact, ...] | None


class DigestWorker:
    """Brings sessions up to date.

    Args:
        retention: how many versions of a digest are kept, at least 1.
        begin: returns the tools of one run.
    """

    def __init__(
        self,
        runtime: Runtime,
        sessions: SessionStore,
        memories: DerivedMemories,
        *,
        retention: int,
        begin: Callable[[], DigestTools],
    ) -> None:
        self._runtime = runtime
        self._sessions = sessions
        self._memories = memories
        self._retention = retention
        self._begin = begin

    def run(self, sessions: Iterable[Session], remaining_ms: Callable[[], int]) -> DigestOutcome:
        """Digest what is left in each session while there is time; one that fails keeps no other from it."""
        run, failed = _Run(self._begin(), remaining_ms), []
        for session in sessions:
            try:
                if not self._digest(session, run):
                    failed.append(session)
            except AgentMemoryError as error:
                logger.warning("a session of %s failed: %s", format_namespace(session.namespace), error.code)
                failed.append(session)
        return DigestOutcome(batches=run.batches, memories=run.memories, failed=tuple(failed))

    def _digest(self, session: Session, run: _Run) -> bool:
        """Digest all batches of a session; return False if some are left for the next time."""
        for _ in range(_STEP_COUNT_MAX):
            present = self._sessions.window(session)
            if present.window.pending is not None:
                self._sessions.flush(session, present)
                present = self._sessions.window(session)
            if present.window.first_undigested >= present.window.batch_limit:
                return present.window.pending is None
            if run.remaining_ms() < RESERVE_MS:
                return False
            step = self._load(session, present.window)
            if step is not None:
                self._take(session, step, run)
        return False

    def _load(self, session: Session, window: Window) -> _Step | None:
        """Read what the next batch needs; None if the window is out of date."""
        epoch, number = window.epoch, window.first_undigested
        keys = [
            batch_key(session, epoch, number),
            digest_key(session, epoch, number),
            facts_key(session, epoch, number),
            *([digest_key(session, epoch, window.done)] if window.done else []),
        ]
        batch, digest, facts, *previous = self._sessions.bodies(keys)
        before = decode_digest(previous[0], keys[3]) if previous and previous[0] is not None else None
        if batch is None or (window.done and (before is None or before.nonce != window.head)):
            return None
        return _Step(
            window,
            decode_batch(batch, keys[0]),
            previous=before,
            digest=None if digest is None else decode_digest(digest, keys[1]),
            facts=None if facts is None else decode_facts(facts, keys[2]),
        )

    def _take(self, session: Session, step: _Step, run: _Run) -> None:
        """Digest, extract, make sure that both count, make the memories, and move the mark."""
        epoch, number = step.window.epoch, step.batch.number
        digest = step.digest or self._create_digest(session, step, run.tools)
        facts = step.facts if step.facts is not None else self._create_facts(session, step, run.tools)
        # Only now is what was read certain to be the first of its number: it is removed after the mark has moved.
        present = self._sessions.window(session)
        if present.window.epoch != epoch or present.window.done >= number:
            # Nothing is tidied up here: the extraction tells an erasure what another digester may be about to make.
            return
        origin = BatchOrigin(session=session, session_id=present.window.session_id, epoch=epoch, number=number)
        run.memories += self._memories.make(origin, facts)
        if self._advance(session, present, origin, digest.nonce):
            run.batches += 1

    def _create_digest(self, session: Session, step: _Step, tools: DigestTools) -> Digest:
        previous = step.previous
        text = previous.text if previous else ""
        if tools.digester is not None:
            text = tools.digester.digest(text, step.batch.turns)
        key = digest_key(session, step.window.epoch, step.batch.number)
        digest = Digest(
            number=step.batch.number,
            nonce=new_nonce(self._runtime.entropy),
            previous=previous.nonce if previous else None,
            text=text,
        )
        return decode_digest(self._sessions.create(key, encode_digest(digest)), key)

    def _create_facts(self, session: Session, step: _Step, tools: DigestTools) -> tuple[Fact, ...]:
        key = facts_key(session, step.window.epoch, step.batch.number)
        return decode_facts(self._sessions.create(key, encode_facts(_extract(step.batch.turns, tools))), key)

    def _advance(self, session: Session, present: PresentWindow, origin: BatchOrigin, head: str) -> bool:
        """Move the mark past a batch and remove what is not needed any more; False if another digester did."""
        is_mine = False
        for _ in self._runtime.retrier.attempts("note that a batch is digested"):
            window = present.window
            if window.epoch != origin.epoch:
                return False
            if window.done >= origin.number:
                break
            try:
                self._sessions.swap(session, present, digested(window, origin.number, head))
            except SwapLostError:
                present = self._sessions.window(session)
                continue
            is_mine = True
            break
        self._sessions.delete(self._needless_keys(origin))
        return is_mine

    def _needless_keys(self, origin: BatchOrigin) -> list[str]:
        session, epoch, number = origin.session, origin.epoch, origin.number
        keys = [batch_key(session, epoch, number), facts_key(session, epoch, number)]
        if number > self._retention:
            keys.append(digest_key(session, epoch, number - self._retention))
        return keys


def _extract(turns: Sequence[Turn], tools: DigestTools) -> list[Fact]:
    facts = []
    for contributor, long_term, members in by_contributor(turns):
        extractor = tools.keeper if long_term is LongTerm.VERBATIM else tools.extractor
        found = extractor.extract(members, contributor)
        facts += [Fact(memory=memory, contributor=contributor) for memory in found]
    return facts
