"""The records of erasures: begun once, moved on by compare-and-swap, kept as reports."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from s3_agent_memory import names
from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.erasure import (
    Erasure,
    ErasureScope,
    Phase,
    check_erasure_id,
    decode_erasure,
    encode_erasure,
    erasure_key,
    erasure_prefix,
    open_erasure_key,
)
from s3_agent_memory.domain.ids import new_file_name, new_nonce
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.timestamps import format_timestamp
from s3_agent_memory.errors import (
    BackendError,
    CorruptError,
    NotFoundError,
    PreconditionFailedError,
    ThrottledError,
    UnknownOutcomeError,
    ValidationError,
)
from s3_agent_memory.service.file_writer import write_once
from s3_agent_memory.service.listing import pages
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.head import HeadStore
from s3_agent_memory.storage.port import StoredObject

RECORD_BYTES_MAX: Final = 1024 * 1024
# A marker without a record is an erasure that nobody was told of; until it is this old it may be one that begins.
_MARKER_AGE_MAX_MS: Final = 3_600_000

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PresentErasure:
    """A record as read, with what a conditional write needs."""

    erasure: Erasure
    etag: str


def decode_record(found: StoredObject, key: str) -> PresentErasure:
    """Return the erasure from the object of its record.

    Raises:
        CorruptError: the bytes are no record, or one that belongs under another key.
    """
    erasure = decode_erasure(found.body, key)
    if erasure_key(erasure.namespace, erasure.id) != key:
        raise CorruptError(f"{key} holds the record of another erasure", key=key)
    return PresentErasure(erasure, found.etag)


class RivalError(Exception):
    """Somebody else moves the same erasure on."""


class ErasureRecords:
    """Keeps the records of the erasures of any namespace."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def begin(self, namespace: Namespace, scope: ErasureScope, requested_by: str | None) -> PresentErasure:
        """Write down that something is to be erased: from here on the sweep finishes what this process leaves.

        Raises:
            ThrottledError, UnknownOutcomeError: it may be written down; nothing is erased yet.
        """
        erasure_id = new_file_name(self._runtime.clock, self._runtime.entropy)
        # It may never have been folded, and schedules are to find it.
        HeadStore(self._runtime).mark(namespace)
        open_key = open_erasure_key(namespace, erasure_id)
        write_once(self._runtime, open_key, b"", what="begin an erasure")
        erasure = Erasure(
            id=erasure_id,
            namespace=namespace,
            scope=scope,
            requested_by=requested_by,
            phase=Phase.SESSIONS,
            started_at=self._now(),
            since_ms=self._written_ms(open_key),
            nonce=new_nonce(self._runtime.entropy),
        )
        write_once(self._runtime, erasure_key(namespace, erasure_id), encode_erasure(erasure), what="begin an erasure")
        return self.load(namespace, erasure_id)

    def load(self, namespace: Namespace, erasure_id: str) -> PresentErasure:
        """Return the record of an erasure.

        Raises:
            NotFoundError: there is none.
            CorruptError: it cannot be read.
        """
        key = erasure_key(namespace, check_erasure_id(erasure_id))
        found = self._runtime.store.get(key, size_max=RECORD_BYTES_MAX)
        if found is None:
            raise NotFoundError(f"there is no erasure {erasure_id}")
        return decode_record(found, key)

    def save(self, present: PresentErasure, changed: Erasure) -> PresentErasure:
        """Replace the record that was read.

        Raises:
            RivalError: somebody else replaced it first.
        """
        if changed == present.erasure:
            return present
        sent = replace(changed, nonce=new_nonce(self._runtime.entropy))
        key = erasure_key(sent.namespace, sent.id)
        for _ in self._runtime.retrier.attempts("note how far an erasure is"):
            try:
                etag = self._runtime.store.put(key, encode_erasure(sent), if_match=present.etag)
            except ThrottledError:
                continue
            except (PreconditionFailedError, UnknownOutcomeError):
                now = self.load(sent.namespace, sent.id)
                if now.erasure.nonce == sent.nonce:
                    return now
                if now.etag == present.etag:
                    continue
                raise RivalError from None
            return PresentErasure(sent, etag)
        raise AssertionError("unreachable: the attempts end with an error")

    def finish(self, present: PresentErasure, changed: Erasure) -> PresentErasure:
        """Write the report, and let the sweep forget about the erasure.

        Raises:
            RivalError: somebody else replaced it first.
        """
        done = self.save(present, replace(changed.at(Phase.FINISHED), finished_at=self._now()))
        self.close(done.erasure)
        return done

    def close(self, erasure: Erasure) -> None:
        """Delete the marker of a finished erasure; what fails is done by whoever comes next."""
        try:
            self._runtime.store.delete_many([open_erasure_key(erasure.namespace, erasure.id)])
        except (BackendError, ThrottledError):
            return

    def unfinished(self, namespace: Namespace) -> Iterator[PresentErasure]:
        """Yield the erasures of a namespace that are to be moved on, the oldest first.

        A record that nobody can read holds up no other; a verification names it.
        """
        for erasure_id, modified_ms in list(self._open(namespace)):
            try:
                present = self.load(namespace, erasure_id)
            except NotFoundError:
                if modified_ms < self._runtime.now_ms() - _MARKER_AGE_MAX_MS:
                    self._runtime.store.delete_many([open_erasure_key(namespace, erasure_id)])
                continue
            except CorruptError as error:
                logger.warning("passing over an erasure: %s", error)
                continue
            if present.erasure.is_finished:
                self.close(present.erasure)
            else:
                yield present

    def is_open(self, erasure: Erasure) -> bool:
        """Return True if somebody is still to move an erasure on."""
        key = open_erasure_key(erasure.namespace, erasure.id)
        return not erasure.is_finished and self._runtime.store.get(key, size_max=1) is not None

    def _open(self, namespace: Namespace) -> Iterator[tuple[str, int]]:
        prefix = erasure_prefix(namespace)
        for page in pages(self._runtime.store, prefix):
            for item in page:
                name = item.key.removeprefix(prefix)
                try:
                    is_marker = name.endswith(names.OPEN_SUFFIX)
                    erasure_id = check_erasure_id(name.removesuffix(names.OPEN_SUFFIX)) if is_marker else ""
                except ValidationError:
                    continue
                if is_marker:
                    yield erasure_id, item.modified_ms

    def _written_ms(self, key: str) -> int:
        """Return when an object was written, by the clock of the store, which knows when all others were."""
        found = self._runtime.store.list_page(key, limit=1).objects
        return found[0].modified_ms if found else self._runtime.now_ms()

    def _now(self) -> str:
        return format_timestamp(to_datetime(self._runtime.clock.now_us()))
