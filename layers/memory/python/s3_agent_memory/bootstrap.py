"""The composition root: the one place that reads the environment, picks adapters and puts services together."""

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from s3_agent_memory import names
from s3_agent_memory.domain.access import AccessSettings
from s3_agent_memory.domain.clock import Clock, Entropy, SystemClock, SystemEntropy
from s3_agent_memory.domain.ids import IdSource
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.ranking import Ranking
from s3_agent_memory.domain.tiers import TierSettings
from s3_agent_memory.embedding.checked import adapt
from s3_agent_memory.embedding.port import BareEmbedder, Embedder
from s3_agent_memory.errors import ValidationError
from s3_agent_memory.generation.opening import open_generator
from s3_agent_memory.generation.port import TextGenerator
from s3_agent_memory.generation.settings import ModelSettings
from s3_agent_memory.index.analyzer import Analyzer
from s3_agent_memory.service.analysis import Analyzers
from s3_agent_memory.service.collector import Collector
from s3_agent_memory.service.compactor import Compactor
from s3_agent_memory.service.conversation import ConversationService
from s3_agent_memory.service.conversation_parts import ConversationParts
from s3_agent_memory.service.embedding import EmbeddingService
from s3_agent_memory.service.embedding_worker import EmbeddingWorker
from s3_agent_memory.service.folder import Folder
from s3_agent_memory.service.head import HeadStore
from s3_agent_memory.service.housekeeper import FOLD_ENTRY_COUNT, Folding, Housekeeper
from s3_agent_memory.service.index_cache import IndexCache
from s3_agent_memory.service.index_reader import IndexReader
from s3_agent_memory.service.indexer import Indexer
from s3_agent_memory.service.pruner import Pruner
from s3_agent_memory.service.reader import MemoryReader
from s3_agent_memory.service.reindexer import Reindexer
from s3_agent_memory.service.rounds import Round
from s3_agent_memory.service.row_loader import RowLoader
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.segment_writer import SegmentWriter
from s3_agent_memory.service.statistics import Statistician
from s3_agent_memory.service.store import MemoryService, Services
from s3_agent_memory.service.sweeper import Sweeper
from s3_agent_memory.service.tokens import TokenService
from s3_agent_memory.service.transfer import Exporter, Importer
from s3_agent_memory.service.truth import Truth
from s3_agent_memory.service.vector_compactor import VectorCompactor
from s3_agent_memory.service.vector_files import VectorFiles
from s3_agent_memory.service.vector_keeper import VectorKeeper
from s3_agent_memory.service.vector_reader import VectorReader
from s3_agent_memory.service.vectoriser import Vectoriser
from s3_agent_memory.service.writer import MemoryWriter
from s3_agent_memory.storage.filesystem import FilesystemObjectStore
from s3_agent_memory.storage.in_memory import InMemoryObjectStore
from s3_agent_memory.storage.observed import ObservedObjectStore
from s3_agent_memory.storage.port import ObjectStore
from s3_agent_memory.storage.retry import Retrier, RetryPolicy

_URL_FORMS = "a store URL is s3://bucket/prefix, file://directory, memory:// or memory://name"
# Over a network requests wait for each other; on one machine they do not.
_S3_WORKER_COUNT = 16
# How long a request, and the sweep of one namespace, may embed; the rest is the embedder's.
_REQUEST_EMBEDDING_SECONDS = 4.0
_SWEEP_EMBEDDING_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where a store lies and how it is opened.

    Attributes:
        url: ``s3://bucket/prefix``, ``file://directory``, ``memory://`` (fresh) or ``memory://name`` (one a process).
        namespace: the namespace of commands that name none.
        endpoint_url, region: of S3; None leaves them to boto3.
        sse, kms_key_id: server-side encryption of each object: AES256, aws:kms or aws:kms:dsse.
        language: whose words are stemmed in new indexes, as Snowball names it.
        embeddings: what turns texts into vectors: ``none``, ``onnx``, ``fastembed`` or ``sentence-transformers``.
        embedding_model: a model's name in those libraries, its directory for ``onnx``; None means the usual one.
    """

    url: str = names.DEFAULT_URL
    namespace: str = names.DEFAULT_NAMESPACE
    endpoint_url: str | None = None
    region: str | None = None
    sse: str | None = None
    kms_key_id: str | None = None
    language: str = names.DEFAULT_LANGUAGE
    embeddings: str = names.DEFAULT_EMBEDDINGS
    embedding_model: str | None = None

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Return the settings that the environment variables of ``names`` describe."""
        return cls(
            url=environ.get(names.ENV_URL) or names.DEFAULT_URL,
            namespace=environ.get(names.ENV_NAMESPACE) or names.DEFAULT_NAMESPACE,
            endpoint_url=environ.get(names.ENV_ENDPOINT_URL) or None,
            region=environ.get(names.ENV_REGION) or None,
            sse=environ.get(names.ENV_SSE) or None,
            kms_key_id=environ.get(names.ENV_KMS_KEY_ID) or None,
            language=environ.get(names.ENV_LANGUAGE) or names.DEFAULT_LANGUAGE,
            embeddings=environ.get(names.ENV_EMBEDDINGS) or names.DEFAULT_EMBEDDINGS,
            embedding_model=environ.get(names.ENV_EMBEDDING_MODEL) or None,
        )


# --- object stores ----------------------------------------------------------------------------------------------------

_named_stores: dict[str, InMemoryObjectStore] = {}
_named_stores_lock = threading.Lock()
_observers: list[Callable[[str, str], None]] = []


def observe_changes(callback: Callable[[str, str], None]) -> None:
    """Have every store opened from now on report each write as ``callback(key, "put" or "delete")``.

    This is how a process that runs all functions turns its own writes into events.
    """
    _observers.append(callback)


def open_object_store(settings: Settings) -> ObjectStore:
    """Open the object store of ``settings.url``; nothing is read or written yet.

    Raises:
        ValidationError: the URL is none of the known forms.
    """
    store = _open_adapter(settings)
    return ObservedObjectStore(store, tuple(_observers)) if _observers else store


def _open_adapter(settings: Settings) -> ObjectStore:
    scheme, separator, rest = settings.url.partition("://")
    if not separator:
        raise ValidationError(f"{settings.url!r} is no store URL; {_URL_FORMS}")
    if scheme == "memory":
        return _open_memory(rest)
    directory = store_directory(settings)
    if directory is not None:
        return FilesystemObjectStore(directory, clock=SystemClock(), entropy=SystemEntropy())
    if scheme == "s3" and rest.strip("/"):
        return _open_s3(settings, rest)
    raise ValidationError(f"{settings.url!r} is no store URL; {_URL_FORMS}")


def store_directory(settings: Settings) -> Path | None:
    """Return the directory of a ``file://`` store, None for any other; what stands after ``file://`` is a plain path.

    Raises:
        ValidationError: the path begins with ``~`` and a user who does not exist.
    """
    scheme, _, rest = settings.url.partition("://")
    if scheme != "file" or not rest:
        return None
    try:
        return Path(rest).expanduser()
    except RuntimeError as error:
        raise ValidationError(f"{settings.url!r} is no store URL: {error}") from error


def _open_memory(name: str) -> InMemoryObjectStore:
    if not name:
        return InMemoryObjectStore(clock=SystemClock())
    with _named_stores_lock:
        return _named_stores.setdefault(name, InMemoryObjectStore(clock=SystemClock()))


def _open_s3(settings: Settings, address: str) -> ObjectStore:
    try:
        # The SDK is an optional extra, and slow to import: only a store on S3 pays for it.
        from s3_agent_memory.storage.s3 import S3ObjectStore
    except ModuleNotFoundError as error:
        raise ValidationError("a store on S3 needs the extra: pip install '.[s3]'") from error
    bucket, _, prefix = address.partition("/")
    return S3ObjectStore(
        bucket,
        prefix.strip("/"),
        endpoint_url=settings.endpoint_url,
        region=settings.region,
        sse=settings.sse,
        kms_key_id=settings.kms_key_id,
    )


# --- embedders --------------------------------------------------------------------------------------------------------


def build_embedder(settings: Settings) -> Embedder | None:
    """Return the embedder that the settings name, None for ``none``; its model is loaded when it is first used.

    Raises:
        ValidationError: there is no such embedder, its extra is not installed, or the directory holds no model.
    """
    if settings.embeddings == names.DEFAULT_EMBEDDINGS:
        return None
    build = _EMBEDDER_BUILDERS.get(settings.embeddings)
    if build is None:
        known = ", ".join([names.DEFAULT_EMBEDDINGS, *_EMBEDDER_BUILDERS])
        raise ValidationError(f"{settings.embeddings!r} is no embedder; there are: {known}")
    return build(settings.embedding_model)


def _build_onnx(directory: str | None) -> Embedder:
    from s3_agent_memory.embedding.onnx import OnnxEmbedder

    return adapt(OnnxEmbedder(_usual_model_directory() if directory is None else Path(directory)))


def _usual_model_directory() -> Path:
    """Return where the model of this project lies: in a package on the module path, else where ``make`` builds it."""
    package = find_spec(names.MODEL_PACKAGE)
    if package is None or package.origin is None:
        return Path(names.DEFAULT_MODEL_DIRECTORY)
    return Path(package.origin).parent


def _build_fastembed(model: str | None) -> Embedder:
    from s3_agent_memory.embedding import fastembed

    return adapt(fastembed.FastembedEmbedder(model or fastembed.DEFAULT_MODEL))


def _build_sentence_transformers(model: str | None) -> Embedder:
    from s3_agent_memory.embedding import sentence_transformers

    return adapt(sentence_transformers.SentenceTransformersEmbedder(model or sentence_transformers.DEFAULT_MODEL))


_EMBEDDER_BUILDERS: Mapping[str, Callable[[str | None], Embedder]] = {
    "onnx": _build_onnx,
    "fastembed": _build_fastembed,
    "sentence-transformers": _build_sentence_transformers,
}


# --- language models --------------------------------------------------------------------------------------------------

# A model is slower and is throttled longer than a store.
_MODEL_RETRIES = RetryPolicy(attempt_count_max=4, base_seconds=0.5, cap_seconds=8.0)


def build_generator(settings: ModelSettings | None = None) -> TextGenerator | None:
    """Return the language model of the environment, None for ``none``; nothing is sent yet.

    Raises:
        ValidationError: a setting is wrong, or the extra that the provider needs is not installed.
    """
    clock = SystemClock()
    attempts = Retrier(clock, SystemEntropy(), _MODEL_RETRIES)
    return open_generator(settings or ModelSettings.from_environment(os.environ), attempts=attempts, clock=clock)


# --- services ---------------------------------------------------------------------------------------------------------


class MemoryStore(MemoryService):
    """A memory store that opens itself from a URL; see ``MemoryService`` for what it can do."""

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        endpoint_url: str | None = None,
        region: str | None = None,
        sse: str | None = None,
        kms_key_id: str | None = None,
        language: str = names.DEFAULT_LANGUAGE,
        limits: Limits | None = None,
        ranking: Ranking | None = None,
        embedder: BareEmbedder | None = None,
        folding: Folding | str = Folding.LAZY,
    ) -> Self:
        """Open the store at ``url``.

        Args:
            url: ``s3://bucket/prefix``, ``file://directory``, ``memory://`` (fresh) or ``memory://name``.
            endpoint_url, region, sse, kms_key_id: of S3; None leaves them to boto3 and the bucket.
            language: whose words are stemmed in new indexes.
            embedder: finds memories by meaning as well: any object with a ``name`` and ``embed(texts)``.
            folding: ``lazy``, writers fold the log now and then; ``inline``, an indexer does it.

        Raises:
            ValidationError: an argument is wrong.

        Example:
            >>> store = MemoryStore.from_url("memory://")
            >>> store.remember("users/alice", "Alice is vegetarian").version
            1
            >>> store.recall("users/alice", "vegetarian")[0].memory.content
            'Alice is vegetarian'
        """
        settings = Settings(
            url=url, endpoint_url=endpoint_url, region=region, sse=sse, kms_key_id=kms_key_id, language=language
        )
        parts = Parts(settings, limits=limits, ranking=ranking, embedder=embedder, folding=Folding(folding))
        return cls(parts.runtime, parts.services)


class Parts:
    """All services over one object store, put together once.

    Attributes:
        runtime: the outside world they share.
        services: what a memory store is made of.
        indexer, embedder, pruning, sweeping: what functions run.
        tokens: access tokens of the store.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        store: ObjectStore | None = None,
        limits: Limits | None = None,
        ranking: Ranking | None = None,
        embedder: BareEmbedder | None = None,
        embedding_seconds_max: float | None = None,
        folding: Folding = Folding.LAZY,
        folding_phase: int = 0,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        retry_policy: RetryPolicy | None = None,
    ) -> None:
        clock, entropy = clock or SystemClock(), entropy or SystemEntropy()
        runtime = Runtime(
            store=store or open_object_store(settings),
            clock=clock,
            entropy=entropy,
            ids=IdSource(clock, entropy),
            limits=limits or Limits(),
            retrier=Retrier(clock, entropy, retry_policy or RetryPolicy()),
        )
        analyzer = Analyzer(settings.language)
        cache, truth, heads = IndexCache(), Truth(runtime), HeadStore(runtime)
        analyzers, rows = Analyzers(analyzer), RowLoader(runtime, truth)
        vectoriser = None if embedder is None else Vectoriser(adapt(embedder))
        files = VectorFiles(runtime, cache)
        index = IndexReader(
            runtime,
            cache,
            rows=rows,
            analyzers=analyzers,
            vectors=None if vectoriser is None else VectorReader(files, vectoriser.model),
        )
        segments = SegmentWriter(runtime, cache)
        folder = Folder(runtime, heads, index, rows=rows, writer=segments, vectors=files, analyzers=analyzers)
        compactor = Compactor(runtime, heads, index, segments)
        collector = Collector(runtime, heads, cache)
        reindexer = Reindexer(runtime, heads, index, rows=rows, writer=segments, analyzer=analyzer)
        embedding = None
        if vectoriser is not None:
            embedding = EmbeddingService(runtime, heads, index, truth=truth, files=files, vectoriser=vectoriser)
        vector_compactor = VectorCompactor(runtime, heads, index, files)
        vectors = VectorKeeper(
            runtime,
            compactor=vector_compactor,
            embedding=embedding,
            seconds_max=embedding_seconds_max,
        )
        # An import, whose lines may be there already, embeds afterwards what it really brought.
        writer, bulk_writer = (
            MemoryWriter(runtime, truth, analyzer, vectoriser=vectoriser),
            MemoryWriter(runtime, truth, analyzer),
        )
        housekeeper = Housekeeper(
            runtime,
            folder=folder,
            compactor=compactor,
            collector=collector,
            vectors=vectors,
            folding=folding,
            phase=folding_phase,
        )
        self.runtime = runtime
        self.services = Services(
            writer=writer,
            reader=MemoryReader(
                runtime,
                truth,
                index,
                ranking=ranking or Ranking(),
                embedder=None if embedder is None else adapt(embedder),
            ),
            index=index,
            housekeeper=housekeeper,
            pruner=Pruner(runtime, index, writer),
            sweeper=Sweeper(
                runtime,
                index,
                folder=folder,
                compactor=compactor,
                collector=collector,
                reindexer=reindexer,
                vectors=vectors,
            ),
            reindexer=reindexer,
            statistician=Statistician(runtime, index, files),
            exporter=Exporter(runtime, truth),
            importer=Importer(runtime, bulk_writer, housekeeper, worker_count=_worker_count(settings)),
            vectors=vectors,
        )
        self.folder, self.compactor, self.collector = folder, compactor, collector
        self.vector_compactor = vector_compactor
        self.embedder = EmbeddingWorker(vectors)
        self.indexer = Indexer(folder=folder, compactor=compactor, collector=collector, reindexer=reindexer)
        self.memories = MemoryStore(runtime, self.services)
        self.pruning = Round(
            runtime, name="pruner", job=lambda namespace: self.memories.prune_expired(namespace).forgotten
        )
        self.sweeping = Round(runtime, name="sweeper", job=lambda namespace: self.memories.sweep(namespace).repaired)
        self.tokens = TokenService(runtime)
        self.worker_count = _worker_count(settings)


def _worker_count(settings: Settings) -> int:
    return _S3_WORKER_COUNT if settings.url.startswith("s3://") else 1


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


def build_sweeper(settings: Settings | None = None) -> Round:
    """Return the round that sweeps every namespace of the environment's store."""
    return _parts(settings, embedding_seconds_max=_SWEEP_EMBEDDING_SECONDS).sweeping


def build_token_service(settings: Settings | None = None) -> TokenService:
    """Return the token service of the environment's store."""
    return Parts(settings or Settings.from_environment()).tokens


def build_access_settings(environ: Mapping[str, str] = os.environ) -> AccessSettings:
    """Return how the environment says the outside reaches the functions and proves who it is."""
    return AccessSettings.from_environment(environ)
