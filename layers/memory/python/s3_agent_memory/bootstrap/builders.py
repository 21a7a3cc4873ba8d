"""What each process of the product needs, built from the environment."""

import os
from collections.abc import Mapping
from typing import Any

from s3_agent_memory.bootstrap.models import build_embedder, build_generator, build_summariser
from s3_agent_memory.bootstrap.parts import MemoryStore, Parts
from s3_agent_memory.bootstrap.settings import Settings
from s3_agent_memory.domain.access import AccessSettings
from s3_agent_memory.domain.clock import SystemEntropy
from s3_agent_memory.domain.tiers import TierSettings
from s3_agent_memory.generation.settings import ModelSettings
from s3_agent_memory.service.conversations.conversation import ConversationService
from s3_agent_memory.service.conversations.parts import ConversationParts
from s3_agent_memory.service.rounds import Round
from s3_agent_memory.service.store.consolidation_round import ConsolidationRound
from s3_agent_memory.service.tokens import TokenService
from s3_agent_memory.service.upkeep.embedding_worker import EmbeddingWorker
from s3_agent_memory.service.upkeep.housekeeper import FOLD_ENTRY_COUNT, Folding
from s3_agent_memory.service.upkeep.indexer import Indexer

# How long a request, and the sweep of one namespace, may embed; the rest is the embedder's.
_REQUEST_EMBEDDING_SECONDS = 4.0
_SWEEP_EMBEDDING_SECONDS = 10.0


def _parts(settings: Settings | None, **options: Any) -> Parts:
    """Return the services of the environment's store, with its embedder."""
    chosen = settings or Settings.from_environment()
    return Parts(chosen, embedder=build_embedder(chosen), **options)


def build_store(settings: Settings | None = None) -> MemoryStore:
    """Return the store of the environment for a library or a long-lived server: it folds its log by itself."""
    return _parts(settings).memories


def build_cli_store(settings: Settings | None = None) -> MemoryStore:
    """Return the store for a process that lives for one command: one in 64 of them looks after the log."""
    phase = SystemEntropy().random_bytes(1)[0] % FOLD_ENTRY_COUNT
    return _parts(settings, folding_phase=phase).memories


def build_api_store(settings: Settings | None = None) -> MemoryStore:
    """Return the store for a function that has an indexer and an embedder beside it."""
    return _parts(settings, folding=Folding.INLINE, embedding_seconds_max=_REQUEST_EMBEDDING_SECONDS).memories


def build_api_services(settings: Settings | None = None) -> tuple[MemoryStore, ConversationService]:
    """Return the store of ``build_api_store`` and its conversations, whose turns the digester function looks after."""
    parts = _parts(settings, folding=Folding.INLINE, embedding_seconds_max=_REQUEST_EMBEDDING_SECONDS)
    return parts.memories, build_conversations(parts).service


def build_conversations(parts: Parts, *, models: ModelSettings | None = None) -> ConversationParts:
    """Return the conversations over a store, with the tiers of the environment; ``models`` is for who digests."""
    tiers, generator = TierSettings.from_environment(os.environ), build_generator(models) if models else None
    return ConversationParts.assemble(
        parts.runtime,
        parts.memories,
        parts.services,
        settings=tiers,
        generator=generator,
        models=models,
        worker_count=parts.worker_count,
    )


def build_digester(settings: Settings | None = None) -> ConversationParts:
    """Return what digests the conversations of the environment's store."""
    parts = _parts(settings, folding=Folding.INLINE)
    return build_conversations(parts, models=ModelSettings.from_environment(os.environ))


def build_indexer(settings: Settings | None = None) -> Indexer:
    """Return the indexer of the environment's store."""
    return Parts(settings or Settings.from_environment()).indexer


def build_embedding_worker(settings: Settings | None = None) -> EmbeddingWorker:
    """Return what embeds the environment's store; without an embedder it has nothing to do."""
    return _parts(settings).embedder


def build_pruner(settings: Settings | None = None) -> Round:
    """Return the round that prunes every namespace of the environment's store."""
    return Parts(settings or Settings.from_environment()).pruning


def build_consolidator(settings: Settings | None = None) -> ConsolidationRound:
    """Return the round that consolidates every namespace of the environment's store, with the environment's model."""
    parts = _parts(settings, folding=Folding.INLINE, embedding_seconds_max=_SWEEP_EMBEDDING_SECONDS)
    return ConsolidationRound(parts.runtime, parts.memories, open_summariser=build_summariser)


def build_sweeper(settings: Settings | None = None) -> Round:
    """Return the round that sweeps every namespace of the environment's store."""
    return _parts(settings, embedding_seconds_max=_SWEEP_EMBEDDING_SECONDS).sweeping


def build_token_service(settings: Settings | None = None) -> TokenService:
    """Return the token service of the environment's store."""
    return Parts(settings or Settings.from_environment()).tokens


def build_access_settings(environ: Mapping[str, str] = os.environ) -> AccessSettings:
    """Return how the environment says the outside reaches the functions and proves who it is."""
    return AccessSettings.from_environment(environ)
