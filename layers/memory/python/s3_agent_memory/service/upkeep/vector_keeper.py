"""Looking after the vectors of a namespace: with an embedder or without, in the time there is."""

import logging
from typing import Final

from s3_agent_memory.domain.keys import Namespace, format_namespace
from s3_agent_memory.errors import EmbeddingError
from s3_agent_memory.service.results import EmbeddingReport, Progress, no_progress
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.upkeep.embedding import EmbeddingService, HasTime, for_ever
from s3_agent_memory.service.upkeep.vector_compactor import VectorCompactor

# How long a writer embeds behind a fold for others.
TIDY_SECONDS: Final = 2.0
# A shard of which more is dead is rewritten behind any embedding; a sweep rewrites whatever has a dead row.
DEAD_SHARE_MAX: Final = 0.5
_MERGE_COUNT_MAX: Final = 16

logger = logging.getLogger(__name__)


class VectorKeeper:
    """Embeds what has no vector, and keeps shards few and free of what was forgotten.

    Args:
        embedding: None in a process without an embedder.
        seconds_max: how long one call may embed; None for as long as it takes.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        compactor: VectorCompactor,
        embedding: EmbeddingService | None,
        seconds_max: float | None = None,
    ) -> None:
        self._runtime = runtime
        self._compactor = compactor
        self._embedding = embedding
        self._seconds_max = seconds_max

    @property
    def has_embedder(self) -> bool:
        """True if this process can make vectors."""
        return self._embedding is not None

    def embed(
        self,
        namespace: Namespace,
        *,
        has_time: HasTime | None = None,
        progress: Progress = no_progress,
        takes_over: bool = False,
    ) -> EmbeddingReport | None:
        """Embed what is missing; return what was done, None without an embedder.

        Args:
            has_time: by default for as long as one call may embed.
            takes_over: see ``EmbeddingService.embed_missing``.

        Raises:
            EmbeddingError: the model failed.
            IndexBrokenError: the index must be rebuilt first.
        """
        if self._embedding is None:
            return None
        return self._embedding.embed_missing(
            namespace,
            has_time=has_time or self._time(self._seconds_max),
            progress=progress,
            takes_over=takes_over,
        )

    def merge(self, namespace: Namespace, *, dead_share_max: float = DEAD_SHARE_MAX) -> None:
        """Merge shards, and rewrite those of which a larger share is dead.

        Raises:
            IndexBrokenError: the index must be rebuilt first.
        """
        for _ in range(_MERGE_COUNT_MAX):
            if not self._compactor.compact(namespace):
                break
        self._compactor.purge(namespace, dead_share_max=dead_share_max)

    def tidy(self, namespace: Namespace) -> None:
        """Embed for a moment what a fold has taken in without a vector; without an embedder do nothing.

        Raises:
            EmbeddingError, IndexBrokenError: see ``embed``.
        """
        if self.has_embedder:
            self.embed(namespace, has_time=self._time(TIDY_SECONDS))
            self.merge(namespace)

    def repair(self, namespace: Namespace) -> EmbeddingReport | None:
        """Embed what is missing, and rewrite every shard that holds a vector of no live memory.

        A model that fails keeps no shard from being cleaned.

        Raises:
            IndexBrokenError: the index must be rebuilt first.
        """
        report: EmbeddingReport | None = None
        try:
            report = self.embed(namespace)
        except EmbeddingError as error:
            logger.warning("embedding %s failed: %s", format_namespace(namespace), error)
        self.merge(namespace, dead_share_max=0.0)
        return report

    def _time(self, seconds: float | None) -> HasTime:
        if seconds is None:
            return for_ever
        clock = self._runtime.clock
        ends_at_s = clock.monotonic_s() + seconds
        return lambda: clock.monotonic_s() < ends_at_s
