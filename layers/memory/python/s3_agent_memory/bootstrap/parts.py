"""All services over one object store, put together once."""

from typing import Self

from s3_agent_memory import names
from s3_agent_memory.bootstrap.settings import Settings
from s3_agent_memory.bootstrap.stores import open_object_store
from s3_agent_memory.domain.clock import Clock, Entropy, SystemClock, SystemEntropy
from s3_agent_memory.domain.ids import IdSource
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.ranking import Ranking
from s3_agent_memory.embedding.checked import adapt
from s3_agent_memory.embedding.port import BareEmbedder
from s3_agent_memory.index.analyzer import Analyzer
from s3_agent_memory.service.analysis import Analyzers
from s3_agent_memory.service.collector import Collector
from s3_agent_memory.service.compactor import Compactor
from s3_agent_memory.service.embedding import EmbeddingService
from s3_agent_memory.service.embedding_worker import EmbeddingWorker
from s3_agent_memory.service.folder import Folder
from s3_agent_memory.service.head import HeadStore
from s3_agent_memory.service.housekeeper import Folding, Housekeeper
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
from s3_agent_memory.service.store import MemoryService
from s3_agent_memory.service.store_base import Services
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
from s3_agent_memory.storage.port import ObjectStore
from s3_agent_memory.storage.retry import Retrier, RetryPolicy

# Over a network requests wait for each other; on one machine they do not.
_S3_WORKER_COUNT = 16


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
