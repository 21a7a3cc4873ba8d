"""The embedder: answers events about new segments by embedding the namespaces they belong to."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from s3_agent_memory.domain.keys import Namespace, format_namespace
from s3_agent_memory.errors import AgentMemoryError
from s3_agent_memory.service.upkeep.vector_keeper import VectorKeeper

# What one more batch, its shard and a merge may take.
RESERVE_MS: Final = 30_000

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingOutcome:
    """What a batch of events led to.

    Attributes:
        embedded: memories that got a vector.
        failed: namespaces that failed or are not finished; send their events again.
    """

    embedded: int
    failed: tuple[Namespace, ...]


class EmbeddingWorker:
    """Embeds what events point at, with the model of this process. An event is a hint: a repeated one finds no work."""

    def __init__(self, vectors: VectorKeeper) -> None:
        self._vectors = vectors

    def run(self, namespaces: Sequence[Namespace], remaining_ms: Callable[[], int]) -> EmbeddingOutcome:
        """Embed every namespace for as long as there is time; one that fails does not keep the others from it.

        Args:
            remaining_ms: returns the milliseconds left.
        """
        embedded = 0
        failed: list[Namespace] = []
        for namespace in dict.fromkeys(namespaces):
            try:
                report = self._vectors.embed(namespace, has_time=lambda: remaining_ms() > RESERVE_MS, takes_over=True)
                if report is None:
                    continue
                self._vectors.merge(namespace)
            except AgentMemoryError as error:
                logger.warning("embedding %s failed: %s", format_namespace(namespace), error.code)
                failed.append(namespace)
                continue
            embedded += report.embedded
            if report.missing != 0 and remaining_ms() <= RESERVE_MS:
                failed.append(namespace)
        return EmbeddingOutcome(embedded=embedded, failed=tuple(failed))
