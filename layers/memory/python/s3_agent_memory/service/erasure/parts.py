"""The services of an erasure over one store, put together once."""

from s3_agent_memory.domain.tiers import TierSettings
from s3_agent_memory.service.erasure.conversation_eraser import ConversationEraser
from s3_agent_memory.service.erasure.eraser import Eraser
from s3_agent_memory.service.erasure.index_purger import IndexPurger
from s3_agent_memory.service.erasure.leftover_eraser import LeftoverEraser
from s3_agent_memory.service.erasure.memory_eraser import MemoryEraser
from s3_agent_memory.service.erasure.records import ErasureRecords
from s3_agent_memory.service.erasure.version_eraser import VersionEraser
from s3_agent_memory.service.memories.writer import MemoryWriter
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.sessions.derived_memories import DerivedMemories
from s3_agent_memory.service.sessions.eraser import SessionEraser
from s3_agent_memory.service.sessions.index import SessionIndex
from s3_agent_memory.service.sessions.store import SessionStore
from s3_agent_memory.service.stored_index.index_reader import IndexReader
from s3_agent_memory.service.truth import Truth
from s3_agent_memory.service.upkeep.reindexer import Reindexer
from s3_agent_memory.service.workers import Workers
from s3_agent_memory.storage.versions import versions_of


def assemble_eraser(
    runtime: Runtime,
    index: IndexReader,
    *,
    writer: MemoryWriter,
    reindexer: Reindexer,
    purger: IndexPurger,
    worker_count: int,
) -> Eraser:
    """Return what erases from a store.

    Args:
        worker_count: memories that are erased at once.
    """
    truth, workers, sessions = Truth(runtime), Workers(worker_count), SessionStore(runtime)
    session_eraser = SessionEraser(
        runtime,
        sessions,
        DerivedMemories(runtime, truth, writer, workers),
        # What is left of a session may leave its window a little earlier than it would have; nothing is lost by that.
        marks=TierSettings().marks,
    )
    versions = versions_of(runtime.store)
    return Eraser(
        ErasureRecords(runtime),
        reindexer,
        conversations=ConversationEraser(runtime, SessionIndex(runtime, sessions), session_eraser),
        memories=MemoryEraser(runtime, truth, index, writer=writer, workers=workers),
        leftovers=LeftoverEraser(runtime),
        index=purger,
        versions=None if versions is None else VersionEraser(runtime, versions),
    )
