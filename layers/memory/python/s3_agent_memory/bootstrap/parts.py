"""All services over one object store, put together once."""

from typing import Self

from s3_agent_memory import names
from s3_agent_memory.bootstrap.settings import Settings
from s3_agent_memory.bootstrap.stores import open_object_store
from s3_agent_memory.domain.clock import Clock, Entropy, SystemClock, SystemEntropy
from s3_agent_memory.domain.ids import IdSource
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.ranking import Ranking
from s3_agent_memory.embedding.checked import adapt
from s3_agent_memory.embedding.port import BareEmbedder
from s3_agent_memory.index.text.analyzer import Analyzer
from s3_agent_memory.service.consolidation.parts import assemble_consolidations
from s3_agent_memory.service.erasure.index_purger import IndexPurger
from s3_agent_memory.service.erasure.parts import assemble_eraser
from s3_agent_memory.service.events.feed import EventsFeed
from s3_agent_memory.service.memories.forgetter import Forgetter
from s3_agent_memory.service.memories.historian import Historian
from s3_agent_memory.service.memories.pruner import Pruner
from s3_agent_memory.service.memories.reader import MemoryReader
from s3_agent_memory.service.memories.statistics import Statistician
from s3_agent_memory.service.memories.superseder import Superseder
from s3_agent_memory.service.memories.writer import MemoryWriter
from s3_agent_memory.service.migration.migrator import Migrator
from s3_agent_memory.service.rounds import Round
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.store.base import Services
from s3_agent_memory.service.store.memory_service import MemoryService
from s3_agent_memory.service.stored_index.analysis import Analyzers
from s3_agent_memory.service.stored_index.head import HeadStore
from s3_agent_memory.service.stored_index.index_cache import FILE_BYTES_MAX, IndexCache
from s3_agent_memory.service.stored_index.index_reader import IndexReader
from s3_agent_memory.service.stored_index.row_loader import RowLoader
from s3_agent_memory.service.stored_index.segment_writer import SegmentWriter
from s3_agent_memory.service.stored_index.vector_files import VectorFiles
from s3_agent_memory.service.stored_index.vector_reader import VectorReader
from s3_agent_memory.service.tokens import TokenService
from s3_agent_memory.service.transfer.bulk_writer import BulkIndexer, UnloggedWriter
from s3_agent_memory.service.transfer.exporter import Exporter
from s3_agent_memory.service.transfer.importer import Importer
from s3_agent_memory.service.transfer.indexing import BulkIndexing, Indexing, LoggedIndexing
from s3_agent_memory.service.truth import Truth
from s3_agent_memory.service.upkeep.collector import Collector
from s3_agent_memory.service.upkeep.compactor import Compactor
from s3_agent_memory.service.upkeep.embedding import EmbeddingService
from s3_agent_memory.service.upkeep.embedding_worker import EmbeddingWorker
from s3_agent_memory.service.upkeep.folder import Folder
from s3_agent_memory.service.upkeep.housekeeper import Folding, Housekeeper
from s3_agent_memory.service.upkeep.indexer import Indexer
from s3_agent_memory.service.upkeep.reindexer import Reindexer
from s3_agent_memory.service.upkeep.sweeper import Sweeper
from s3_agent_memory.service.upkeep.vector_compactor import VectorCompactor
from s3_agent_memory.service.upkeep.vector_keeper import VectorKeeper
from s3_agent_memory.service.vectoriser import Vectoriser
from s3_agent_memory.service.verifier import Verifier
from s3_agent_memory.service.workers import Workers
from s3_agent_memory.storage.port import ObjectStore
from s3_agent_memory.storage.retry import Retrier, RetryPolicy

# Over a network requests wait for each other; on one machine reads do not.
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
            # Everything that writes to a bucket with functions is heard of; to a directory, only the stack itself.
            has_events=settings.url.startswith("s3://"),
        )
        analyzer = Analyzer(settings.language)
        cache, truth, heads = IndexCache(_index_bytes_max(settings)), Truth(runtime), HeadStore(runtime)
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
        writer = MemoryWriter(runtime, truth, analyzer, vectoriser=vectoriser)
        forgetter = Forgetter(runtime, truth, index, writer)
        housekeeper = Housekeeper(
            runtime,
            folder=folder,
            compactor=compactor,
            collector=collector,
            vectors=vectors,
            folding=folding,
            phase=folding_phase,
        )
        bulk_indexer = BulkIndexer(
            runtime, heads, index, writer=segments, analyzers=analyzers, folder=folder, reindexer=reindexer
        )

        def open_indexing(namespace: Namespace) -> Indexing:
            # An import, whose lines may be there already, embeds afterwards what it really brought.
            if folding is Folding.INLINE:
                return LoggedIndexing(MemoryWriter(runtime, truth, analyzer))
            return BulkIndexing(
                runtime,
                namespace,
                writer=UnloggedWriter(runtime, truth, analyzer),
                indexer=bulk_indexer,
                reader=index,
                tidy=housekeeper.note_import,
            )

        sweeper = Sweeper(
            runtime,
            index,
            folder=folder,
            compactor=compactor,
            collector=collector,
            reindexer=reindexer,
            vectors=vectors,
            truth=truth,
        )
        purger = IndexPurger(
            runtime,
            heads,
            index,
            folder=folder,
            reindexer=reindexer,
            sweeper=sweeper,
            collector=collector,
            segments=segments,
            vectors=files,
            vector_compactor=vector_compactor,
        )
        importer = Importer(
            runtime, housekeeper, open_indexing=open_indexing, worker_count=_import_worker_count(settings)
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
            forgetter=forgetter,
            superseder=Superseder(runtime, truth, index, writer),
            historian=Historian(runtime, truth, index),
            pruner=Pruner(runtime, index, forgetter),
            sweeper=sweeper,
            reindexer=reindexer,
            statistician=Statistician(runtime, index, files),
            events=EventsFeed(runtime, heads, index, truth),
            exporter=Exporter(runtime, truth, is_remote=_worker_count(settings) > 1),
            importer=importer,
            migrator=Migrator(runtime, truth, importer),
            vectors=vectors,
            consolidations=assemble_consolidations(runtime, truth, index=index, writer=writer, folder=folder),
            verifier=Verifier(runtime, truth, heads, index),
            eraser=assemble_eraser(
                runtime,
                index,
                writer=writer,
                reindexer=reindexer,
                purger=purger,
                worker_count=_worker_count(settings),
            ),
        )
        self.folder, self.compactor, self.collector = folder, compactor, collector
        self.vector_compactor = vector_compactor
        self.embedder = EmbeddingWorker(vectors)
        self.indexer = Indexer(
            folder=folder,
            compactor=compactor,
            collector=collector,
            reindexer=reindexer,
            workers=Workers(_worker_count(settings)),
        )
        self.memories = MemoryStore(runtime, self.services)
        self.pruning = Round(
            runtime, name="pruner", job=lambda namespace: self.memories.prune_expired(namespace).forgotten
        )
        self.sweeping = Round(
            runtime,
            name="sweeper",
            job=lambda namespace: self.memories.sweep(namespace).repaired,
            prelude=self.services.eraser.resume,
        )
        self.tokens = TokenService(runtime)
        self.worker_count = _worker_count(settings)


def _index_bytes_max(settings: Settings) -> int:
    """Return how much of its memory a process may spend on index files; the rest is for the model and the work."""
    return (
        FILE_BYTES_MAX if settings.memory_mb is None else min(FILE_BYTES_MAX, settings.memory_mb * 1_024 * 1_024 // 2)
    )


def _worker_count(settings: Settings) -> int:
    return _S3_WORKER_COUNT if settings.url.startswith("s3://") else 1


def _import_worker_count(settings: Settings) -> int:
    # Every write to a directory waits for the disk, and a disk makes many writes lasting in the time of one.
    return 1 if settings.url.startswith("memory://") else _S3_WORKER_COUNT
