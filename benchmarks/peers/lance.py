"""LanceDB on a directory: a table with a vector and a full-text index, searched by both at once."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import lancedb  # type: ignore[import-not-found,unused-ignore]
import pyarrow  # type: ignore[import-not-found,import-untyped,unused-ignore]
from lancedb.index import FTS, IvfPq  # type: ignore[import-not-found,unused-ignore]

from benchmarks.peers.port import RESULT_COUNT, TextEmbedder, with_author
from benchmarks.quality_corpora import Item

_TABLE = "memories"
_BATCH_COUNT = 10_000
_INDEXED_COUNT_MIN = 10_000
# As its documentation advises: often enough that what is not indexed stays small.
_WRITES_BEFORE_OPTIMIZE = 100


class Lance:
    """One table; rows that are not indexed yet are found by a scan."""

    def __init__(self, folder: Path, embedder: TextEmbedder) -> None:
        self._embedder = embedder
        self._written_count = 0
        self._database: Any = lancedb.connect(folder)
        self._schema = pyarrow.schema(
            [
                pyarrow.field("id", pyarrow.string()),
                pyarrow.field("text", pyarrow.string()),
                pyarrow.field("vector", pyarrow.list_(pyarrow.float32(), embedder.dimension)),
            ]
        )
        self._table = self._database.create_table(_TABLE, schema=self._schema, exist_ok=True)

    def load(self, items: Sequence[Item]) -> None:
        """See ``Peer``."""
        self._table.add(self._batches(items))
        self._table.create_index("text", config=FTS())
        if len(items) >= _INDEXED_COUNT_MIN:
            self._table.create_index("vector", config=IvfPq(distance_type="cosine"))
        self._table.optimize()

    def _batches(self, items: Sequence[Item]) -> Iterator[Any]:
        for start in range(0, len(items), _BATCH_COUNT):
            part = items[start : start + _BATCH_COUNT]
            texts = [with_author(item) for item in part]
            vectors = pyarrow.array(self._embedder.embed(texts).reshape(-1))
            columns = [
                pyarrow.array([item.id for item in part]),
                pyarrow.array(texts),
                pyarrow.FixedSizeListArray.from_arrays(vectors, self._embedder.dimension),
            ]
            yield pyarrow.RecordBatch.from_arrays(columns, schema=self._schema)

    def write(self, item: Item) -> None:
        """See ``Peer``."""
        text = with_author(item)
        self._table.add([{"id": item.id, "text": text, "vector": self._embedder.embed([text])[0]}])
        self._written_count += 1
        if self._written_count % _WRITES_BEFORE_OPTIMIZE == 0:
            self._table.optimize()

    def search(self, question: str) -> list[str]:
        """See ``Peer``."""
        query = self._table.search(query_type="hybrid").vector(self._embedder.embed_query(question)).text(question)
        rows = query.select(["id"]).limit(RESULT_COUNT).to_arrow()
        return list(rows["id"].to_pylist())

    def count(self) -> int:
        """See ``Peer``."""
        return int(self._table.count_rows())

    def close(self) -> None:
        """See ``Peer``."""
        if self._written_count % _WRITES_BEFORE_OPTIMIZE:
            self._table.optimize()
