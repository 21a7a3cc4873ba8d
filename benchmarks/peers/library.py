"""This project's library over a directory."""

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.port import RESULT_COUNT, TextEmbedder, with_author
from benchmarks.quality_corpora import Item
from benchmarks.quality_systems import stored_form
from s3_agent_memory import Attribution, Limits, MemoryStore

_NAMESPACE = "peers"
# As many as are asked for, and those of the writers after them.
_MEMORY_COUNT_MAX = 2_000_000


class LibraryTextOnly:
    """Everything by default, but a memory is nothing but a text."""

    _knows_more = False
    _has_model = True

    def __init__(self, folder: Path, embedder: TextEmbedder) -> None:
        self._store = MemoryStore.from_url(
            f"file://{folder}",
            embedder=embedder if self._has_model else None,
            limits=Limits(memory_count_max=_MEMORY_COUNT_MAX),
        )

    def load(self, items: Sequence[Item]) -> None:
        """See ``Peer``."""
        lines = (json.dumps({**self._document(item), "id": item.id, "namespace": [_NAMESPACE]}) for item in items)
        report = self._store.import_(_NAMESPACE, lines)
        if report.imported != len(items):
            raise ValueError(f"of {len(items)} memories {report.imported} were imported: {report.errors[:1]}")

    def _document(self, item: Item) -> dict[str, object]:
        if self._knows_more:
            return stored_form(item, is_text_only=False)
        return {"kind": item.kind, "content": with_author(item)}

    def write(self, item: Item) -> None:
        """See ``Peer``; ``source`` holds the id that the comparison knows it by."""
        known = Attribution(author=item.author, session_id=item.session) if self._knows_more else Attribution()
        text = item.text if self._knows_more else with_author(item)
        self._store.remember(_NAMESPACE, text, kind=item.kind, attribution=known, source=item.id)

    def search(self, question: str) -> list[str]:
        """See ``Peer``."""
        hits = self._store.recall(_NAMESPACE, question, limit=RESULT_COUNT)
        return [hit.memory.source or hit.memory.id for hit in hits]

    def count(self) -> int:
        """See ``Peer``."""
        return self._store.stats(_NAMESPACE).memories

    def close(self) -> None:
        """See ``Peer``."""


class Library(LibraryTextOnly):
    """Everything by default: author, session and date in their fields, and the embedder."""

    _knows_more = True


class LibraryWithoutModel(Library):
    """The same without an embedder."""

    _has_model = False
