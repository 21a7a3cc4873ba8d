"""Embedding what has no vector yet: new rows that came without one, and all of them after a change of the model.

Vectors are filed under the key of id and text, so an embedder can hardly do harm: one that repeats what another did, or
comes late, adds vectors that are there already or belong to nobody, and merges drop them.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from s3_agent_memory.domain.keys import Namespace, TruthKey
from s3_agent_memory.errors import CorruptError, EmbeddingError
from s3_agent_memory.index.id_table import Positions
from s3_agent_memory.index.manifest import (
    Manifest,
    VectorRef,
    add_vectors,
    is_fenced,
    replace_vectors,
    set_embedding,
    stamp,
)
from s3_agent_memory.index.row import RowMeta, embedded_text, text_key
from s3_agent_memory.index.vectors.shard import KeyedVectors
from s3_agent_memory.service.grace import MODEL_GRACE_MS, UPLOAD_AGE_MAX_MS
from s3_agent_memory.service.results import Consistency, EmbeddingReport, Progress, no_progress
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.head import HeadStore
from s3_agent_memory.service.stored_index.index_reader import IndexReader, View
from s3_agent_memory.service.stored_index.vector_files import VectorFiles
from s3_agent_memory.service.truth import Truth, decode_present
from s3_agent_memory.service.vectoriser import KeyedText, Vectoriser

BATCH_SIZE: Final = 128
# Texts that are embedded between two looks at the clock: about half a second's work for a small model on one core.
PORTION_CHARACTERS_MAX: Final = 16_384
# What a killed process loses is at most one shard; merges make large ones of them.
SHARD_ROWS_MAX: Final = 4_096
_ROUND_COUNT_MAX: Final = 100
_PROBE: Final = KeyedText(1, "word")

HasTime = Callable[[], bool]


def for_ever() -> bool:
    """Return True: there is no time limit."""
    return True


@dataclass(slots=True)
class _Work:
    """One call under way: what it may do, and what it has done."""

    has_time: HasTime
    progress: Progress
    embedded: int = 0
    failed: int = 0

    def count(self, embedded: int, missing: int) -> None:
        self.embedded += embedded
        self.progress(self.embedded, self.embedded + missing)


class EmbeddingService:
    """Gives every memory of a namespace a vector of one model."""

    def __init__(
        self,
        runtime: Runtime,
        heads: HeadStore,
        reader: IndexReader,
        *,
        truth: Truth,
        files: VectorFiles,
        vectoriser: Vectoriser,
    ) -> None:
        self._runtime = runtime
        self._heads = heads
        self._reader = reader
        self._truth = truth
        self._files = files
        self._vectoriser = vectoriser
        self._lock = threading.Lock()
        self._busy: set[Namespace] = set()

    def embed_missing(
        self,
        namespace: Namespace,
        *,
        has_time: HasTime = for_ever,
        progress: Progress = no_progress,
        takes_over: bool = False,
    ) -> EmbeddingReport:
        """Embed the folded rows that have no vector, and drop the shards of a model that is no longer in use.

        A namespace is embedded by one thread of a process at a time; a second one returns at once.

        Args:
            has_time: asked before each batch; what is left over is the next call's.
            progress: called with the rows embedded, and those that there are to embed.
            takes_over: make this process's model that of the namespace. Without it nothing is done where the namespace
                has another model already.

        Raises:
            EmbeddingError: the model takes no text at all.
            IndexBrokenError: the index must be rebuilt first.
        """
        with self._lock:
            if namespace in self._busy:
                return EmbeddingReport(model=self._vectoriser.model)
            self._busy.add(namespace)
        try:
            return self._embed(namespace, _Work(has_time, progress), takes_over=takes_over)
        finally:
            with self._lock:
                self._busy.discard(namespace)

    def _embed(self, namespace: Namespace, work: _Work, *, takes_over: bool) -> EmbeddingReport:
        model = self._vectoriser.model
        view = self._view(namespace)
        if view.head.manifest.model not in ("", model):
            if not takes_over:
                return EmbeddingReport(model=model)
            self._take_over(namespace)
            view = self._view(namespace)
        self._drop_lost(namespace, view)
        missing = self._missing(view)
        for _ in range(_ROUND_COUNT_MAX):
            before = work.embedded
            self._embed_rows(namespace, view, missing, work)
            view = self._view(namespace)
            missing = self._missing(view)
            if not len(missing) or work.embedded == before or not work.has_time():
                break
        if not len(missing):
            self._drop_foreign(namespace, view.head.manifest)
        return EmbeddingReport(model=model, embedded=work.embedded, failed=work.failed, missing=len(missing))

    def _take_over(self, namespace: Namespace) -> None:
        def delta(fresh: Manifest) -> Manifest | None:
            # A manifest that was lost meanwhile must not come back as one that knows nothing of the memories.
            is_lost = not fresh.segments
            return None if is_lost else set_embedding(fresh, self._vectoriser.model, self._runtime.now_ms())

        self._heads.commit(namespace, delta)

    def _view(self, namespace: Namespace) -> View:
        return self._reader.view(namespace, Consistency.EVENTUAL)

    def _missing(self, view: View) -> Positions:
        return np.zeros(0, np.int64) if view.vectors is None else view.vectors.missing_docs()

    # --- rows ---------------------------------------------------------------------------------------------------------

    def _embed_rows(self, namespace: Namespace, view: View, docs: Positions, work: _Work) -> None:
        """Embed rows until all are done or the time is up, and commit a shard whenever one is full."""
        started_ms, base_version = self._runtime.now_ms(), view.head.manifest.version
        pending: list[KeyedVectors] = []
        try:
            for start in range(0, len(docs), BATCH_SIZE):
                if not work.has_time():
                    break
                batch = docs[start : start + BATCH_SIZE]
                vectors = self._vectors_of(self._texts(namespace, view.snapshot.rows_at(batch)), work)
                pending.extend(vectors)
                work.count(len(vectors), len(docs) - start - len(batch))
                if sum(len(item.scales) for item in pending) >= SHARD_ROWS_MAX:
                    self._commit(namespace, pending, started_ms, base_version=base_version)
                    started_ms, pending = self._runtime.now_ms(), []
        except EmbeddingError:
            # What was embedded before is none the worse for it.
            self._commit(namespace, pending, started_ms, base_version=base_version)
            raise
        self._commit(namespace, pending, started_ms, base_version=base_version)

    def _texts(self, namespace: Namespace, rows: Sequence[RowMeta]) -> list[KeyedText]:
        """Return the texts of rows whose objects still say what the row says; the others are about to be folded."""
        requests = [self._truth.get_request(namespace, row.kind, row.id) for row in rows]
        results = self._runtime.store.read_many(requests)
        texts: list[KeyedText] = []
        for row, result in zip(rows, results, strict=True):
            try:
                present = decode_present(result, TruthKey(namespace, row.kind, row.id))
            except CorruptError:
                continue
            if present is not None:
                text = embedded_text(present.memory)
                if text_key(row.id, text) == row.text_key:
                    texts.append(KeyedText(row.text_key, text))
        return texts

    def _vectors_of(self, texts: Sequence[KeyedText], work: _Work) -> list[KeyedVectors]:
        """Return the vectors of texts, of the first ones at least; the rest is left over if the time is up."""
        vectors: list[KeyedVectors] = []
        for portion in _portions(texts):
            if vectors and not work.has_time():
                break
            vectors.extend(self._portion_vectors(portion, work))
        return vectors

    def _portion_vectors(self, texts: Sequence[KeyedText], work: _Work) -> list[KeyedVectors]:
        """Return the vectors of texts; one that the model cannot take must not keep the others from theirs."""
        try:
            return self._vectoriser.vectors_of(texts)
        except EmbeddingError:
            # Is it the texts, or the model? If the model, this raises.
            self._vectoriser.vectors_of([_PROBE])
            done = list(self._one_by_one(texts))
            work.failed += len(texts) - len(done)
            return done

    def _one_by_one(self, texts: Sequence[KeyedText]) -> Iterator[KeyedVectors]:
        for text in texts:
            try:
                yield from self._vectoriser.vectors_of([text])
            except EmbeddingError:
                continue

    # --- commits ------------------------------------------------------------------------------------------------------

    def _commit(
        self, namespace: Namespace, vectors: Sequence[KeyedVectors], started_ms: int, *, base_version: int
    ) -> None:
        if not vectors:
            return
        shard = self._files.upload(namespace, vectors, model=self._vectoriser.model)

        def delta(fresh: Manifest) -> Manifest | None:
            return None if is_fenced(fresh, base_version) else self._added(fresh, shard, started_ms)

        self._heads.commit(namespace, delta)

    def _added(self, fresh: Manifest, shard: VectorRef, started_ms: int) -> Manifest | None:
        now_ms = self._runtime.now_ms()
        # An older upload could be collected at any moment, and without segments there is nothing to have vectors.
        if now_ms - started_ms > UPLOAD_AGE_MAX_MS or not fresh.segments:
            return None
        return add_vectors(stamp(fresh, now_ms), shard, now_ms)

    def _drop_lost(self, namespace: Namespace, view: View) -> None:
        """Give up shards that cannot be read: nobody looks for them any more, and their rows count as missing."""
        lost = view.contents.lost_vectors
        if lost:
            self._heads.commit(namespace, lambda fresh: replace_vectors(fresh, lost, ()))

    def _drop_foreign(self, namespace: Namespace, manifest: Manifest) -> None:
        """Give up the shards of other models once this one has been that of the namespace for long enough.

        Processes with two models thus take turns in owning the namespace, but never throw away each other's work.
        """
        embedding = manifest.embedding
        foreign = [shard.id for shard in manifest.vectors if shard.model != self._vectoriser.model]
        if not foreign or embedding is None or embedding.model != self._vectoriser.model:
            return
        if self._runtime.now_ms() - embedding.since_ms <= MODEL_GRACE_MS:
            return

        def delta(fresh: Manifest) -> Manifest | None:
            if fresh.embedding != embedding:
                return None
            return replace_vectors(fresh, foreign, ())

        self._heads.commit(namespace, delta)


def _portions(texts: Sequence[KeyedText]) -> Iterator[list[KeyedText]]:
    portion: list[KeyedText] = []
    length = 0
    for text in texts:
        portion.append(text)
        length += len(text.text)
        if length >= PORTION_CHARACTERS_MAX:
            yield portion
            portion, length = [], 0
    if portion:
        yield portion
