"""The obvious index, to compare with: one JSON file a namespace, rewritten on every write, scanned on every query."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SingleFileIndex:
    """Term counts and metadata of every memory, by id, as the JSON file holds them."""

    memories: dict[str, dict[str, Any]]

    @classmethod
    def decode(cls, body: bytes) -> "SingleFileIndex":
        """Return the index stored in ``body``."""
        return cls(json.loads(body)["memories"])

    def encode(self) -> bytes:
        """Return the whole file, which is what every write sends."""
        return json.dumps({"schema": 1, "memories": self.memories}, separators=(",", ":")).encode()

    def put(self, memory_id: str, words: Sequence[str], metadata: Mapping[str, object]) -> None:
        """Add or replace one memory."""
        self.memories[memory_id] = {**metadata, "length": len(words), "terms": Counter(words)}

    def search(self, query: Sequence[str], count: int, *, k1: float, b: float) -> list[tuple[float, str]]:
        """Return the best memories by BM25 as (score, id)."""
        memories = self.memories
        average_length = sum(entry["length"] for entry in memories.values()) / max(1, len(memories))
        df = {word: sum(word in entry["terms"] for entry in memories.values()) for word in set(query)}
        idf = {word: math.log(1 + (len(memories) - n + 0.5) / (n + 0.5)) for word, n in df.items()}
        scores: list[tuple[float, str]] = []
        for memory_id, entry in memories.items():
            terms = entry["terms"]
            score = 0.0
            for word in query:
                tf = terms.get(word)
                if tf:
                    score += idf[word] * tf * (k1 + 1) / (tf + k1 * (1 - b + b * entry["length"] / average_length))
            if score:
                scores.append((score, memory_id))
        return sorted(scores, reverse=True)[:count]
