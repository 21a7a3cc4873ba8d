"""The composition root: the one place that reads the environment, picks adapters and puts services together."""

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from s3_agent_memory import names
from s3_agent_memory.domain.clock import Clock, Entropy, SystemClock, SystemEntropy
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.ranking import Ranking
from s3_agent_memory.errors import ValidationError
from s3_agent_memory.index.analyzer import Analyzer
from s3_agent_memory.service.analysis import Analyzers
from s3_agent_memory.service.collector import Collector
from s3_agent_memory.service.compactor import Compactor
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
from s3_agent_memory.service.writer import MemoryWriter
from s3_agent_memory.storage.filesystem import FilesystemObjectStore
from s3_agent_memory.storage.in_memory import InMemoryObjectStore
from s3_agent_memory.storage.observed import ObservedObjectStore
from s3_agent_memory.storage.port import ObjectStore
from s3_agent_memory.storage.retry import Retrier, RetryPolicy

_URL_FORMS = "a store URL is s3://bucket/prefix, file://directory, memory:// or memory://name"
# Over a network requests wait for each other; on one machine they do not.
_S3_WORKER_COUNT = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where a store lies and how it is opened.

    Attributes:
        url: ``s3://bucket/prefix``, ``file://directory``, ``memory://`` (fresh) or ``memory://name`` (one a process).
        namespace: the namespace of commands that name none.
        endpoint_url, region: of S3; None leaves them to boto3.
        sse, kms_key_id: server-side encryption of each object: AES256, aws:kms or aws:kms:dsse.
        language: whose words are stemmed in new indexes, as Snowball names it.
    """

    url: str = names.DEFAULT_URL
    namespace: str = names.DEFAULT_NAMESPACE
    endpoint_url: str | None = None
    region: str | None = None
    sse: str | None = None
    kms_key_id: str | None = None
    language: str = names.DEFAULT_LANGUAGE

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
        folding: Folding | str = Folding.LAZY,
    ) -> Self:
        """Open the store at ``url``.

        Args:
            url: ``s3://bucket/prefix``, ``file://directory``, ``memory://`` (fresh) or ``memory://name``.
            endpoint_url, region, sse, kms_key_id: of S3; None leaves them to boto3 and the bucket.
            language: whose words are stemmed in new indexes.
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
        parts = Parts(settings, limits=limits, ranking=ranking, folding=Folding(folding))
        return cls(parts.runtime, parts.services)


class Parts:
    """All services over one object store, put together once.

    Attributes:
        runtime: the outside world they share.
        services: what a memory store is made of.
        indexer, pruning, sweeping: what functions run.
        tokens: access tokens of the store.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        store: ObjectStore | None = None,
        limits: Limits | None = None,
        ranking: Ranking | None = None,
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
            limits=limits or Limits(),
            retrier=Retrier(clock, entropy, retry_policy or RetryPolicy()),
        )
        analyzer = Analyzer(settings.language)
        cache, truth, heads = IndexCache(), Truth(runtime), HeadStore(runtime)
        analyzers, rows = Analyzers(analyzer), RowLoader(runtime, truth)
        index = IndexReader(runtime, cache, rows, analyzers)
        segments = SegmentWriter(runtime, cache)
        folder = Folder(runtime, heads, index, rows=rows, writer=segments, analyzers=analyzers)
        compactor = Compactor(runtime, heads, index, segments)
        collector = Collector(runtime, heads, cache)
        reindexer = Reindexer(runtime, heads, index, rows=rows, writer=segments, analyzer=analyzer)
        writer = MemoryWriter(runtime, truth, analyzer)
        housekeeper = Housekeeper(
            runtime,
            folder=folder,
            compactor=compactor,
            collector=collector,
            folding=folding,
            phase=folding_phase,
        )
        self.runtime = runtime
        self.services = Services(
            writer=writer,
            reader=MemoryReader(runtime, truth, index, ranking or Ranking()),
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
            ),
            reindexer=reindexer,
            statistician=Statistician(runtime, index),
            exporter=Exporter(runtime, truth),
            importer=Importer(runtime, writer, housekeeper, worker_count=_worker_count(settings)),
        )
        self.folder, self.compactor, self.collector = folder, compactor, collector
        self.indexer = Indexer(folder=folder, compactor=compactor, collector=collector, reindexer=reindexer)
        self.memories = MemoryStore(runtime, self.services)
        self.pruning = Round(
            runtime, name="pruner", job=lambda namespace: self.memories.prune_expired(namespace).forgotten
        )
        self.sweeping = Round(runtime, name="sweeper", job=lambda namespace: self.memories.sweep(namespace).repaired)
        self.tokens = TokenService(runtime)


def _worker_count(settings: Settings) -> int:
    return _S3_WORKER_COUNT if settings.url.startswith("s3://") else 1


def build_store(settings: Settings | None = None) -> MemoryStore:
    """Return the store of the environment for a library or a long-lived server: it folds its log by itself."""
    return Parts(settings or Settings.from_environment()).memories


def build_cli_store(settings: Settings | None = None) -> MemoryStore:
    """Return the store for a process that lives for one command: one in 64 of them looks after the log."""
    phase = SystemEntropy().random_bytes(1)[0] % FOLD_ENTRY_COUNT
    return Parts(settings or Settings.from_environment(), folding_phase=phase).memories


def build_api_store(settings: Settings | None = None) -> MemoryStore:
    """Return the store for a function that has an indexer beside it."""
    return Parts(settings or Settings.from_environment(), folding=Folding.INLINE).memories


def build_indexer(settings: Settings | None = None) -> Indexer:
    """Return the indexer of the environment's store."""
    return Parts(settings or Settings.from_environment()).indexer


def build_pruner(settings: Settings | None = None) -> Round:
    """Return the round that prunes every namespace of the environment's store."""
    return Parts(settings or Settings.from_environment()).pruning


def build_sweeper(settings: Settings | None = None) -> Round:
    """Return the round that sweeps every namespace of the environment's store."""
    return Parts(settings or Settings.from_environment()).sweeping


def build_token_service(settings: Settings | None = None) -> TokenService:
    """Return the token service of the environment's store."""
    return Parts(settings or Settings.from_environment()).tokens
