"""The sweep of conversations: finishes what crashes and lost events left, and removes what nobody needs any more."""

import logging
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from s3_agent_memory import names
from s3_agent_memory.domain.keys import Namespace, format_namespace
from s3_agent_memory.domain.session_keys import Session, SessionKey, batches_prefix, parse_session_key
from s3_agent_memory.errors import AgentMemoryError
from s3_agent_memory.service.conversations.digest_worker import RESERVE_MS, DigestWorker
from s3_agent_memory.service.namespaces import discover_conversations
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.sessions.eraser import SessionEraser
from s3_agent_memory.service.sessions.index import SessionEntry, SessionIndex
from s3_agent_memory.service.sessions.store import SessionStore

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSweepReport:
    """What a sweep did.

    Attributes:
        sessions: sessions that something was done for.
        removed: objects that nobody needed any more.
        failed: namespaces whose sweep failed; the others went on.
        is_complete: False if the time was up before the end.
    """

    sessions: int
    removed: int
    failed: tuple[str, ...]
    is_complete: bool


class SessionSweeper:
    """Sweeps the conversations of all namespaces.

    Args:
        retention: how many versions of a digest are kept.
    """

    def __init__(
        self,
        runtime: Runtime,
        sessions: SessionStore,
        index: SessionIndex,
        *,
        eraser: SessionEraser,
        worker: DigestWorker,
        retention: int,
    ) -> None:
        self._runtime = runtime
        self._sessions = sessions
        self._index = index
        self._eraser = eraser
        self._worker = worker
        self._retention = retention

    def run(self, remaining_ms: Callable[[], int]) -> SessionSweepReport:
        """Sweep namespace after namespace until all are done or the time runs out."""
        count = removed = 0
        failed: list[str] = []
        for namespace in discover_conversations(self._runtime):
            if remaining_ms() < RESERVE_MS:
                return SessionSweepReport(sessions=count, removed=removed, failed=tuple(failed), is_complete=False)
            try:
                swept, gone = self.sweep(namespace, remaining_ms)
            except AgentMemoryError as error:
                logger.warning("sweep of the sessions of %s failed: %s", format_namespace(namespace), error.code)
                failed.append(format_namespace(namespace))
                continue
            count, removed = count + swept, removed + gone
        return SessionSweepReport(sessions=count, removed=removed, failed=tuple(failed), is_complete=True)

    def sweep(self, namespace: Namespace, remaining_ms: Callable[[], int]) -> tuple[int, int]:
        """Sweep one namespace; return how many sessions needed something, and how many objects were removed."""
        entries = self._index.entries(namespace)
        garbage: list[str] = []
        unfinished = {name for name, entry in entries.items() if not entry.is_idle}
        for name, keys in self._keys_by_session(namespace).items():
            entry = entries.get(name)
            if entry is None:
                continue
            garbage += [key.path for key in keys if self._is_needless(key, entry)]
        for name in sorted(unfinished):
            session = Session(namespace, name)
            self._eraser.finish(session, self._sessions.window(session).window)
        self._worker.run([Session(namespace, name) for name in sorted(unfinished)], remaining_ms)
        self._runtime.store.delete_many(garbage)
        self._index.refresh(namespace)
        return len(unfinished), len(garbage)

    def _keys_by_session(self, namespace: Namespace) -> dict[str, list[SessionKey]]:
        found: dict[str, list[SessionKey]] = defaultdict(list)
        for item in self._sessions.listed(batches_prefix(namespace)):
            key = parse_session_key(item.key)
            if key is not None:
                found[key.session.name].append(key)
        return found

    def _is_needless(self, key: SessionKey, entry: SessionEntry) -> bool:
        """Return True for what is of an older epoch, digested, or a digest beyond the retention.

        The entry may be out of date; epochs and marks only rise, so what it makes needless stays needless.
        """
        if key.epoch != entry.epoch:
            # Of an epoch whose erasure is not finished, extractions are still read.
            return key.epoch < entry.epoch and entry.is_idle
        kept = self._retention if key.suffix == names.DIGEST_SUFFIX else 0
        return key.number <= entry.done - kept
