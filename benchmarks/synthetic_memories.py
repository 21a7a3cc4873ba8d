"""Synthetic memories: the same ones at every run, with words that follow Zipf's law as those of real texts do."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate

from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Memory

SEED = 20_261_101
VOCABULARY_SIZE = 60_000
STOP_WORD_COUNT = 100
WORD_COUNT_MIN, WORD_COUNT_MAX = 10, 30
TAGS = ("work", "home", "travel", "food", "health", "money", "people", "tools")
_START = datetime(2026, 1, 1, tzinfo=UTC)


class Corpus:
    """Texts and memories in an endless row, each corpus of a seed the same."""

    def __init__(self, seed: int = SEED) -> None:
        self._random = random.Random(seed)
        self._words = [f"word{number}" for number in range(VOCABULARY_SIZE)]
        ranks = range(STOP_WORD_COUNT + 1, STOP_WORD_COUNT + 1 + VOCABULARY_SIZE)
        self._weights = list(accumulate(1 / rank for rank in ranks))

    def text(self) -> str:
        """Return the next text: 20 words on average, about 170 bytes."""
        count = self._random.randint(WORD_COUNT_MIN, WORD_COUNT_MAX)
        return " ".join(self._random.choices(self._words, cum_weights=self._weights, k=count))

    def memories(self, namespace: str, count: int) -> Iterator[Memory]:
        """Yield so many memories, a minute apart, each with two tags."""
        place = Namespace(tuple(namespace.split("/")))
        kinds = tuple(Kind)
        for number in range(count):
            moment = _START + timedelta(minutes=number)
            yield Memory(
                id=f"{int(moment.timestamp() * 1_000):012x}{number:012x}",
                namespace=place,
                kind=kinds[number % len(kinds)],
                content=self.text(),
                importance=round(self._random.random(), 2),
                tags=tuple(self._random.sample(TAGS, 2)),
                created_at=moment,
                updated_at=moment,
            )
