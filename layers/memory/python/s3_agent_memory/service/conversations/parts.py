"""All services of conversations over one store, put together once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.tiers import TierSettings
from s3_agent_memory.generation.budget import BudgetedGenerator
from s3_agent_memory.generation.port import TextGenerator
from s3_agent_memory.generation.settings import ModelSettings
from s3_agent_memory.service.conversations.conversation import ConversationService
from s3_agent_memory.service.conversations.digest_worker import DigestTools, DigestWorker
from s3_agent_memory.service.conversations.sweeper import SessionSweeper
from s3_agent_memory.service.erasure.scope_eraser import ScopeEraser
from s3_agent_memory.service.prompting.digesting import Digester
from s3_agent_memory.service.prompting.extraction import Extractor
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.sessions.derived_memories import DerivedMemories
from s3_agent_memory.service.sessions.eraser import SessionEraser
from s3_agent_memory.service.sessions.index import SessionIndex
from s3_agent_memory.service.sessions.reader import SessionReader
from s3_agent_memory.service.sessions.store import SessionStore
from s3_agent_memory.service.sessions.writer import SessionWriter
from s3_agent_memory.service.store.base import Services
from s3_agent_memory.service.store.memory_service import MemoryService
from s3_agent_memory.service.truth import Truth
from s3_agent_memory.service.workers import Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationParts:
    """The services of conversations.

    Attributes:
        service: what requests are answered with.
        worker, sweeper: what the digester function runs.
    """

    service: ConversationService
    worker: DigestWorker
    sweeper: SessionSweeper

    @classmethod
    def assemble(
        cls,
        runtime: Runtime,
        memories: MemoryService,
        services: Services,
        *,
        settings: TierSettings,
        generator: TextGenerator | None = None,
        models: ModelSettings | None = None,
        worker_count: int = 1,
    ) -> Self:
        """Return the services over a memory store.

        Args:
            generator: the language model that digests and extracts; None works without one.
            models: what is set about it.
            worker_count: memories that are made or erased at once.
        """
        sessions, workers = SessionStore(runtime), Workers(worker_count)
        derived = DerivedMemories(runtime, Truth(runtime), services.writer, workers)
        index = SessionIndex(runtime, sessions)
        eraser = SessionEraser(runtime, sessions, derived, marks=settings.marks)
        worker = DigestWorker(
            runtime,
            sessions,
            derived,
            retention=settings.digest_retention,
            begin=_tools(settings, generator, models or ModelSettings(), runtime.limits),
        )
        service = ConversationService(
            runtime,
            memories,
            writer=SessionWriter(runtime, sessions),
            reader=SessionReader(runtime, sessions),
            eraser=eraser,
            index=index,
            scope_eraser=ScopeEraser(
                runtime, services.index, services.reindexer, forgetter=services.forgetter, workers=workers
            ),
            folder=Digester(None),
            settings=settings,
        )
        sweeper = SessionSweeper(
            runtime, sessions, index, eraser=eraser, worker=worker, retention=settings.digest_retention
        )
        return cls(service=service, worker=worker, sweeper=sweeper)


def _tools(
    settings: TierSettings, generator: TextGenerator | None, models: ModelSettings, limits: Limits
) -> Callable[[], DigestTools]:
    """Return what makes the tools of a run, with a fresh budget for the language model."""

    def begin() -> DigestTools:
        model = None if generator is None else BudgetedGenerator(generator, models.budget)
        extractor = Extractor(model, limits=limits, system_prompt=models.extraction_system_prompt)
        digester = Digester(model, system_prompt=models.summarization_system_prompt)
        return DigestTools(
            extractor=extractor,
            keeper=Extractor(None, limits=limits),
            digester=digester if settings.rolling_summary else None,
        )

    return begin
