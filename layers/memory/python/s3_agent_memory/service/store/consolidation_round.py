"""The scheduled round that consolidates what changed since the last time, in every namespace."""

from collections.abc import Callable
from typing import Final

from s3_agent_memory.domain.consolidation import MergeState
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.service.prompting.summarising import Summariser
from s3_agent_memory.service.rounds import Round, RoundReport
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.store.consolidation import StoreConsolidation

# A batch of merges is not begun with less than this left; a model may take a minute for one.
RESERVE_MS: Final = 90_000


class ConsolidationRound:
    """Consolidates all namespaces, over as many runs as it takes; a run that was interrupted is finished first.

    Args:
        open_summariser: makes what writes merged texts, with a budget of its own for each run.
    """

    def __init__(
        self, runtime: Runtime, memories: StoreConsolidation, *, open_summariser: Callable[[], Summariser]
    ) -> None:
        self._runtime = runtime
        self._memories = memories
        self._open_summariser = open_summariser

    def run(self, remaining_ms: Callable[[], int]) -> RoundReport:
        """Work on namespaces until all are done or the time runs out; ``changed`` counts merges.

        Args:
            remaining_ms: returns the milliseconds left.
        """
        summariser = self._open_summariser()

        def consolidate(namespace: Namespace) -> int:
            run = self._memories.consolidate(
                namespace, summariser=summariser, only_changes=True, has_time=lambda: remaining_ms() > RESERVE_MS
            )
            return len(run.in_state(MergeState.MERGED))

        return Round(self._runtime, name="consolidator", job=consolidate).run(remaining_ms)
