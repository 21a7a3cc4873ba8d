"""The obvious memory in object storage: one object a memory, and one JSON index that every write swaps whole."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from benchmarks.peers.port import RESULT_COUNT, TextEmbedder, with_author
from benchmarks.quality_corpora import Item
from benchmarks.single_file_index import SingleFileIndex
from s3_agent_memory.bootstrap import Settings, open_object_store
from s3_agent_memory.errors import PreconditionFailedError
from s3_agent_memory.index.text.analyzer import Analyzer
from s3_agent_memory.storage.port import Unchanged

_KEY = "memory/peers/_index.json"
_SIZE_MAX = 1 << 31
_ATTEMPT_COUNT_MAX = 20
_PAUSE_SECONDS_MAX = 0.05
_K1, _B = 0.9, 0.4


class SingleFile:
    """Words only; a reader keeps the index and asks whether it has changed."""

    def __init__(self, folder: Path, embedder: TextEmbedder) -> None:
        self._store = open_object_store(Settings(url=f"file://{folder}"))
        self._analyzer = Analyzer()
        self._random = Random()
        self._index, self._etag = SingleFileIndex({}), ""

    def load(self, items: Sequence[Item]) -> None:
        """See ``Peer``."""
        self._refresh()
        for item in items:
            self._put_object(item)
            self._add(item)
        self._store.put(_KEY, self._index.encode())

    def write(self, item: Item) -> None:
        """See ``Peer``."""
        self._put_object(item)
        for attempt in range(_ATTEMPT_COUNT_MAX):
            self._refresh()
            self._add(item)
            try:
                if self._etag:
                    self._etag = self._store.put(_KEY, self._index.encode(), if_match=self._etag)
                else:
                    self._etag = self._store.put(_KEY, self._index.encode(), if_absent=True)
                return
            except PreconditionFailedError:
                # What was added must not stay: the next attempt starts from what is stored.
                self._etag = ""
                time.sleep(self._random.uniform(0, _PAUSE_SECONDS_MAX * (attempt + 1)))
        raise TimeoutError(f"the index was swapped by others {_ATTEMPT_COUNT_MAX} times")

    def _put_object(self, item: Item) -> None:
        document = {"id": item.id, "content": with_author(item), "created_at": item.created_at}
        self._store.put(f"memory/peers/{item.id}.json", json.dumps(document).encode(), if_absent=True)

    def _add(self, item: Item) -> None:
        metadata = {"kind": item.kind, "created_at": item.created_at, "tags": [], "version": 1}
        self._index.put(item.id, self._analyzer.terms(with_author(item)), metadata)

    def _refresh(self) -> None:
        found = self._store.get_if_changed(_KEY, self._etag or "none", size_max=_SIZE_MAX)
        if found is None:
            self._index, self._etag = SingleFileIndex({}), ""
        elif not isinstance(found, Unchanged):
            self._index, self._etag = SingleFileIndex.decode(found.body), found.etag

    def search(self, question: str) -> list[str]:
        """See ``Peer``; like the library, it reads the objects of its hits."""
        self._refresh()
        hits = self._index.search(self._analyzer.terms(question), RESULT_COUNT, k1=_K1, b=_B)
        ids = [memory_id for _, memory_id in hits]
        for memory_id in ids:
            self._store.get(f"memory/peers/{memory_id}.json", size_max=_SIZE_MAX)
        return ids

    def count(self) -> int:
        """See ``Peer``."""
        self._refresh()
        return len(self._index.memories)

    def close(self) -> None:
        """See ``Peer``."""
