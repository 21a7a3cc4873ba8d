"""Writing memories: create, remember under a chosen id, update, forget. Every step follows one protocol.

A write is acknowledged after its log entry: object first, log entry second, no shared object is ever swapped. After a
lost race or a missing answer the present state is read and decides who won; every attempt sends fresh bytes, because
equal bytes would give an equal ETag.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.codec import Tombstone, decode_claim, encode_claim, encode_memory, encode_tombstone
from s3_agent_memory.domain.ids import new_file_name, new_nonce
from s3_agent_memory.domain.keys import Namespace, claim_key, log_prefix, tombstone_key
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.memory import Memory, check_version
from s3_agent_memory.domain.timestamps import format_timestamp
from s3_agent_memory.errors import (
    ConflictError,
    ForgottenError,
    NotFoundError,
    OtherKindError,
    PreconditionFailedError,
    ThrottledError,
    UnknownOutcomeError,
    ValidationError,
)
from s3_agent_memory.index.log import LogEntry, encode_entry
from s3_agent_memory.index.row import embedded_text, row_of_memory, row_of_tombstone
from s3_agent_memory.index.text.analyzer import Analyzer
from s3_agent_memory.service.file_writer import write_once
from s3_agent_memory.service.memories.history import History
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.truth import PresentMemory, PresentTombstone, Truth, is_dead
from s3_agent_memory.service.vectoriser import KeyedText, Vectoriser
from s3_agent_memory.storage.retry import Doubt

_TICK = timedelta(microseconds=1)
_CLAIM_BYTES_MAX = 1_024


class Change(Protocol):
    """How an update makes the next version of a memory; ``version`` and ``updated_at`` are the writer's business."""

    def apply(self, memory: Memory, limits: Limits) -> Memory:
        """Return the changed memory, checked."""


@dataclass(frozen=True, slots=True)
class _Written:
    """A memory that lies in the store, and its ETag; empty if it has been replaced since."""

    memory: Memory
    etag: str


class MemoryWriter:
    """Changes memories of any namespace, each by itself, whatever it names.

    Args:
        vectoriser: makes the vectors that log entries carry; None leaves them to whoever embeds later.
    """

    def __init__(
        self, runtime: Runtime, truth: Truth, analyzer: Analyzer, *, vectoriser: Vectoriser | None = None
    ) -> None:
        self._runtime = runtime
        self._truth = truth
        self._analyzer = analyzer
        self._vectoriser = vectoriser
        self._history = History(runtime)

    def create(self, memory: Memory) -> Memory:
        """Write a memory under its freshly generated id: two PUTs.

        Raises:
            UnknownOutcomeError: a write got no answer.
            ThrottledError: too many lost races.
        """
        with Doubt() as doubt:
            for memory_now in self._attempts(memory, "write a memory"):
                written = self._put_new(memory_now, doubt)
                if written is None:
                    present = self._truth.memory(memory.namespace, memory.kind, memory.id)
                    if present is None:
                        continue
                    # The id is random: whatever is there is an attempt of ours, or stands on one.
                    is_ours = doubt.is_own(present.body)
                    written = _Written(present.memory if is_ours else memory_now, present.etag if is_ours else "")
                self._log_memory(written)
                return written.memory
        raise AssertionError("unreachable: the attempts end with an error")

    def remember_as(self, memory: Memory, *, resurrect: bool = False) -> Memory:
        """Write a memory under an id the caller chose.

        Raises:
            ConflictError: the id is in use, or belongs to another kind.
            ForgottenError: the id was forgotten and ``resurrect`` is False.
            UnknownOutcomeError: a write got no answer.
        """
        # A generated id has no claim. What it left is looked for first, so that no claim can contradict it.
        self._refuse_other_kinds(memory)
        self._claim(memory)
        with Doubt() as doubt:
            for attempt in self._attempts(memory, "write a memory"):
                tombstone = self._usable_tombstone(memory, resurrect=resurrect)
                version = memory.version
                if tombstone is not None:
                    version = check_version(max(version, tombstone.tombstone.deletes_version + 1))
                written = self._put_new(replace(attempt, version=version), doubt)
                if written is None:
                    written = self._settle(memory, doubt, resurrect=resurrect)
                if written is not None and self._is_alive(written, resurrect=resurrect):
                    self._log_memory(written)
                    return written.memory
        raise AssertionError("unreachable: the attempts end with an error")

    def update(
        self,
        namespace: Namespace,
        memory_id: str,
        change: Change,
        *,
        kind: Kind | None = None,
        expected_version: int | None = None,
    ) -> Memory:
        """Apply a change to the present version, which is kept as an earlier one.

        Raises:
            NotFoundError: there is no such memory.
            ConflictError: ``expected_version`` is given and is not the present version.
            UnknownOutcomeError: a write got no answer.
            ValidationError: the changed memory breaks a rule.
        """
        sent_at: datetime | None = None
        with Doubt() as doubt, self._history.keeping(namespace, memory_id) as kept:
            for _ in self._runtime.retrier.attempts("update a memory"):
                present = self._present(namespace, memory_id, kind)
                if doubt.is_own(present.body):
                    self._log_memory(_Written(present.memory, present.etag))
                    return present.memory
                kind = present.memory.kind
                # The tombstone is read after the object: an object alive now was alive when it was read.
                if is_dead(present, self._truth.tombstone(namespace, memory_id)):
                    self._truth.clear_dead(present)
                    continue
                self._check_updatable(present.memory, expected_version, doubt)
                sent_at = self._later_than(present.memory.updated_at, sent_at)
                changed = replace(
                    change.apply(present.memory, self._runtime.limits),
                    version=check_version(present.memory.version + 1),
                    updated_at=sent_at,
                )
                kept.keep(present)
                etag = self._put(changed, doubt, if_match=present.etag)
                if etag is not None:
                    self._log_memory(_Written(changed, etag))
                    kept.trim(changed.version)
                    return changed
        raise AssertionError("unreachable: the attempts end with an error")

    def forget(
        self,
        namespace: Namespace,
        memory_id: str,
        *,
        kind: Kind | None = None,
        reason: str | None = None,
        only_if: Callable[[Memory], bool] = lambda _: True,
    ) -> bool:
        """Delete a memory and leave a tombstone without content; return False if ``only_if`` refused it.

        Raises:
            NotFoundError: there is no such memory and never was.
            UnknownOutcomeError: a write got no answer.
        """
        with Doubt() as doubt:
            for _ in self._runtime.retrier.attempts("forget a memory"):
                present = self._find(namespace, memory_id, kind)
                if present is None:
                    tombstone = self._truth.tombstone(namespace, memory_id)
                    if tombstone is None:
                        raise NotFoundError(f"there is no memory {memory_id}")
                    # An earlier forget may have died before these: they are done here, before acknowledging.
                    self._history.erase(namespace, memory_id, tombstone.tombstone.deletes_version)
                    self._log_tombstone(namespace, tombstone)
                    return True
                kind = present.memory.kind
                if not only_if(present.memory):
                    return False
                tombstone = self._raise_tombstone(present.memory, reason, doubt)
                if present.memory.consolidated_from:
                    # What it hides must come to light even if this process dies before it has deleted the object.
                    self._log_tombstone(namespace, tombstone)
                if self._delete(present, doubt):
                    self._history.erase(namespace, memory_id, present.memory.version)
                    self._log_tombstone(namespace, tombstone)
                    return True
        raise AssertionError("unreachable: the attempts end with an error")

    # --- the object -----------------------------------------------------------------------------------------------

    def _attempts(self, memory: Memory, what: str) -> Iterator[Memory]:
        """Yield the memory for each attempt, with an ``updated_at`` that strictly rises."""
        for number in self._runtime.retrier.attempts(what):
            yield replace(memory, updated_at=_ticks_after(memory.updated_at, number))

    def _put_new(self, memory: Memory, doubt: Doubt) -> _Written | None:
        """Create the object; None if the present state must be read to know what happened."""
        etag = self._put(memory, doubt, if_absent=True)
        return None if etag is None else _Written(memory, etag)

    def _put(self, memory: Memory, doubt: Doubt, *, if_match: str | None = None, if_absent: bool = False) -> str | None:
        """Write the object on a condition and return its ETag; None if the present state must be read first."""
        body = self._encode(memory)
        doubt.sent.add(body)
        try:
            etag = self._runtime.store.put(memory.key, body, if_match=if_match, if_absent=if_absent)
        except (PreconditionFailedError, ThrottledError):
            return None
        except UnknownOutcomeError:
            etag = None
        doubt.may_have_effect = True
        return etag

    def _encode(self, memory: Memory) -> bytes:
        """Return the bytes of a memory that may be stored.

        Raises:
            LimitExceededError: they are more than a line of an import may have, so it could not be moved elsewhere.
        """
        body = encode_memory(memory)
        self._runtime.limits.check("line_bytes_max", len(body), f"the memory is {len(body)} bytes of JSON")
        return body

    def _delete(self, present: PresentMemory, doubt: Doubt) -> bool:
        """Delete exactly this object; True if it is gone."""
        try:
            self._runtime.store.delete(present.memory.key, if_match=present.etag)
        except (PreconditionFailedError, ThrottledError):
            return False
        except UnknownOutcomeError:
            doubt.may_have_effect = True
            return False
        doubt.may_have_effect = True
        return True

    def _find(self, namespace: Namespace, memory_id: str, kind: Kind | None) -> PresentMemory | None:
        if kind is None:
            return self._truth.locate(namespace, memory_id)
        return self._truth.memory(namespace, kind, memory_id)

    def _present(self, namespace: Namespace, memory_id: str, kind: Kind | None) -> PresentMemory:
        present = self._find(namespace, memory_id, kind)
        if present is None:
            raise NotFoundError(f"there is no memory {memory_id}")
        return present

    def _check_updatable(self, memory: Memory, expected_version: int | None, doubt: Doubt) -> None:
        if memory.is_expired(self._runtime.clock.now_us()):
            raise NotFoundError(f"there is no memory {memory.id}")
        if expected_version is not None and memory.version != expected_version:
            if doubt.may_have_effect:
                raise UnknownOutcomeError("an update got no answer and the memory changed since; read it again")
            raise ConflictError(f"memory {memory.id} is at version {memory.version}, not {expected_version}")

    def _later_than(self, present: datetime, sent: datetime | None) -> datetime:
        now = to_datetime(self._runtime.clock.now_us())
        floor = present if sent is None else max(present, sent)
        return max(now, _ticks_after(floor, 1))

    # --- a chosen id ----------------------------------------------------------------------------------------------

    def _claim(self, memory: Memory) -> None:
        """Bind the id to its kind for ever."""
        key = claim_key(memory.namespace, memory.id)
        for _ in self._runtime.retrier.attempts("claim an id"):
            try:
                self._runtime.store.put(key, encode_claim(memory.kind), if_absent=True)
            except PreconditionFailedError:
                found = self._runtime.store.get(key, size_max=_CLAIM_BYTES_MAX)
                if found is None:
                    continue
                claimed = decode_claim(found.body, key)
                if claimed is not memory.kind:
                    raise OtherKindError(f"the id {memory.id} belongs to the kind {claimed}") from None
            except (ThrottledError, UnknownOutcomeError):
                continue
            return

    def _refuse_other_kinds(self, memory: Memory) -> None:
        others = [kind for kind in Kind if kind is not memory.kind]
        present = self._truth.locate(memory.namespace, memory.id, others)
        tombstone = self._truth.tombstone(memory.namespace, memory.id)
        if present is not None and not is_dead(present, tombstone):
            raise OtherKindError(f"the id {memory.id} belongs to the kind {present.memory.kind}")
        _refuse_other_kind(memory, tombstone)

    def _usable_tombstone(self, memory: Memory, *, resurrect: bool) -> PresentTombstone | None:
        tombstone = self._truth.tombstone(memory.namespace, memory.id)
        _refuse_other_kind(memory, tombstone)
        if tombstone is not None and not resurrect:
            present = self._truth.memory(memory.namespace, memory.kind, memory.id)
            is_in_use = present is not None and not is_dead(present, tombstone)
            if present is not None and is_in_use and not present.memory.is_expired(self._runtime.clock.now_us()):
                # Forgotten once, and resurrected since.
                raise ConflictError(f"the id {memory.id} is in use")
            raise ForgottenError(f"the id {memory.id} was forgotten")
        return tombstone

    def _settle(self, memory: Memory, doubt: Doubt, *, resurrect: bool) -> _Written | None:
        """Find out who holds the id; None to try again."""
        present = self._truth.memory(memory.namespace, memory.kind, memory.id)
        if present is None:
            return None
        if doubt.is_own(present.body):
            return _Written(present.memory, present.etag)
        if is_dead(present, self._truth.tombstone(memory.namespace, memory.id)):
            self._truth.clear_dead(present)
            return None
        if not present.memory.is_expired(self._runtime.clock.now_us()):
            raise ConflictError(f"the id {memory.id} is in use")
        if not resurrect:
            raise ForgottenError(f"the id {memory.id} has expired")
        self._raise_tombstone(present.memory, "expired", doubt)
        self._truth.clear_dead(present)
        return None

    def _is_alive(self, written: _Written, *, resurrect: bool) -> bool:
        """Read the tombstone a second time: a forget may have risen past a write that was on its way.

        Raises:
            ForgottenError: it has, and ``resurrect`` is False.
        """
        memory = written.memory
        present = PresentMemory(memory, written.etag, b"")
        if not is_dead(present, self._truth.tombstone(memory.namespace, memory.id)):
            return True
        self._truth.clear_dead(present)
        if not resurrect:
            raise ForgottenError(f"the id {memory.id} was forgotten")
        return False

    # --- tombstone and log ----------------------------------------------------------------------------------------

    def _raise_tombstone(self, memory: Memory, reason: str | None, doubt: Doubt) -> PresentTombstone:
        """Make the tombstone cover the version of ``memory``; it never falls."""
        key = tombstone_key(memory.namespace, memory.id)
        for _ in self._runtime.retrier.attempts("write a tombstone"):
            present = self._truth.tombstone(memory.namespace, memory.id)
            if present is not None and present.tombstone.deletes_version >= memory.version:
                return present
            raised = Tombstone(
                id=memory.id,
                kind=memory.kind,
                deletes_version=memory.version,
                forgotten_at=format_timestamp(to_datetime(self._runtime.clock.now_us())),
                reason=reason,
                nonce=new_nonce(self._runtime.entropy),
            )
            try:
                etag = self._runtime.store.put(
                    key,
                    encode_tombstone(raised),
                    if_match=present.etag if present else None,
                    if_absent=present is None,
                )
            except (PreconditionFailedError, ThrottledError):
                continue
            except UnknownOutcomeError:
                doubt.may_have_effect = True
                continue
            doubt.may_have_effect = True
            return PresentTombstone(raised, etag)
        raise AssertionError("unreachable: the attempts end with an error")

    def _log_memory(self, written: _Written) -> None:
        row = row_of_memory(written.memory, etag=written.etag, analyzer=self._analyzer)
        text = KeyedText(row.text_key, embedded_text(written.memory))
        vectors = self._vectoriser.entry_vectors_of(text) if self._vectoriser else None
        self._log(written.memory.namespace, LogEntry(row, self._analyzer.signature, vectors))

    def _log_tombstone(self, namespace: Namespace, tombstone: PresentTombstone) -> None:
        row = row_of_tombstone(tombstone.tombstone, etag=tombstone.etag)
        self._log(namespace, LogEntry(row, self._analyzer.signature))

    def _log(self, namespace: Namespace, entry: LogEntry) -> None:
        """Write the log entry; from here on every strong reader sees the mutation.

        Raises:
            UnknownOutcomeError: the mutation happened, but the log entry could not be written; the sweep heals it.
        """
        key = log_prefix(namespace) + new_file_name(self._runtime.clock, self._runtime.entropy)
        with Doubt(may_have_effect=True):
            write_once(self._runtime, key, encode_entry(entry), what="write a log entry")


def _refuse_other_kind(memory: Memory, tombstone: PresentTombstone | None) -> None:
    if tombstone is not None and tombstone.tombstone.kind is not memory.kind:
        raise OtherKindError(f"the id {memory.id} belongs to the kind {tombstone.tombstone.kind}")


def _ticks_after(moment: datetime, count: int) -> datetime:
    try:
        return moment + count * _TICK
    except OverflowError:
        # Only an import can have brought such a moment in.
        raise ValidationError("a memory updated at the end of the year 9999 cannot be changed") from None
