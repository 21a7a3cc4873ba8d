"""What stored bytes still know of memories: their text, the hashes of their terms, their vectors, their log entries."""

from collections.abc import Iterable, Iterator

import numpy as np

from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.errors import CorruptError
from s3_agent_memory.index.log import decode_entry
from s3_agent_memory.index.row import Row, row_of_memory
from s3_agent_memory.index.segment import Segment
from s3_agent_memory.index.text.analyzer import Analyzer
from s3_agent_memory.index.vectors.shard import VectorShard


class Traces:
    """Looks for traces of ``gone`` memories; terms that ``kept`` ones have as well are none."""

    def __init__(self, gone: Iterable[Memory], kept: Iterable[Memory] = ()) -> None:
        gone_rows, kept_rows = _rows(gone), _rows(kept)
        self._texts = [memory.content.encode() for memory in gone]
        self._terms = _terms(gone_rows) - _terms(kept_rows)
        self._text_keys = {row.text_key for row in gone_rows}

    def found(self, objects: Iterable[tuple[str, bytes]]) -> list[str]:
        """Return what is found in some objects, each as its key and what it holds."""
        return [f"{key}: {what}" for key, body in objects for what in self._in(key, body)]

    def _in(self, key: str, body: bytes) -> Iterator[str]:
        if any(text in body for text in self._texts):
            yield "text"
        try:
            if key.endswith(".seg"):
                segment = Segment.decode(body, key)
                if self._terms & set(segment.term_hashes.tolist()):
                    yield "terms"
                if self._text_keys & set(segment.text_keys.tolist()):
                    yield "text keys"
            elif key.endswith(".vec") and self._text_keys & set(np.asarray(VectorShard.decode(body, key).text_keys)):
                yield "vectors"
            elif "/_index/log/" in key:
                row = decode_entry(body, key).row
                if row.text_key in self._text_keys or self._terms & row.terms.keys():
                    yield "a log entry"
        except CorruptError:
            yield "unreadable bytes"


def _rows(memories: Iterable[Memory]) -> list[Row]:
    analyzer = Analyzer("english")
    return [row_of_memory(memory, etag='"x"', analyzer=analyzer) for memory in memories]


def _terms(rows: Iterable[Row]) -> set[int]:
    return {term for row in rows for term in row.terms}
