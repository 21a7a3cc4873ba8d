"""What must hold of vectors at every step: each is that of its text, and no swap loses one that a memory needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from s3_agent_memory.index.log import decode_entry
from s3_agent_memory.index.row import text_key
from s3_agent_memory.index.vectors.shard import KeyedVectors, VectorShard
from s3_agent_memory.service.grace import MODEL_GRACE_MS
from s3_agent_memory.service.stored_index.index_reader import View
from s3_agent_memory.service.vectoriser import KeyedText, Vectoriser
from tests.fakes.embedder import FakeEmbedder

SKEW_MS = 5_000
COSINE_MIN = 0.98


@dataclass
class Shard:
    """What a shard was seen to hold when it was written."""

    model: str
    text_keys: frozenset[int]


class VectorOracle:
    """Knows every text that was ever stored, and so what every vector must be.

    Args:
        live_texts: returns id and text of every memory that is alive now.
        fail: called with what is wrong.
    """

    def __init__(self, live_texts: Callable[[], Iterable[tuple[str, str]]], fail: Callable[[str], None]) -> None:
        self._live_texts = live_texts
        self._fail = fail
        self._texts: dict[int, str] = {}
        self._shards: dict[str, Shard] = {}

    def see_text(self, memory_id: str, text: str) -> None:
        self._texts[text_key(memory_id, text)] = text

    def see_shard(self, shard_id: str, body: bytes) -> None:
        shard = VectorShard.decode(body, shard_id)
        for keyed in shard.keyed():
            self._check(keyed, shard.model, f"the shard {shard_id}")
        self._shards[shard_id] = Shard(shard.model, frozenset(shard.text_keys.tolist()))

    def check_erased(self, shard_ids: Iterable[str], gone: Iterable[tuple[str, str]]) -> None:
        """No shard in use may hold a vector of a text that was erased."""
        keys = {text_key(memory_id, text) for memory_id, text in gone}
        for shard_id in shard_ids:
            found = keys & self._shards[shard_id].text_keys
            if found:
                self._fail(f"a shard holds vectors of {[self._texts[key] for key in found]} after their erasure")

    def see_entry(self, key: str, body: bytes) -> None:
        vectors = decode_entry(body, key).vectors
        if vectors is not None:
            self._check(vectors.keyed, vectors.model, f"the log entry {key}")

    def see_swap(self, before: dict[str, Any], after: dict[str, Any], now_ms: int) -> None:
        kept = {item[0] for item in [*after["vectors"], *after["vector_trash"]]}
        lost = {item[0] for item in before["vectors"]} - kept
        if lost:
            self._fail(f"a swap of the manifest loses the vector shards {sorted(lost)}")
        model, since_ms = after["embedding"] or ("", 0)
        has_grace = now_ms - since_ms <= MODEL_GRACE_MS - SKEW_MS
        for other in {item[3] for item in before["vectors"]}:
            gone = self._live_keys(before, other) - self._live_keys(after, other)
            if gone and (other == model or has_grace):
                texts = [self._texts[key] for key in gone]
                self._fail(f"a swap of the manifest loses the vectors of {texts}, which are needed")

    def see_view(self, view: View, model: str) -> None:
        """A reader got this view: every vector that it has is that of the row's text."""
        if view.vectors is None:
            return
        docs = view.snapshot.live_docs()
        for doc, row in zip(docs.tolist(), view.snapshot.rows_at(docs), strict=True):
            text = self._texts.get(row.text_key)
            if text is None:
                self._fail(f"a row of {row.id} is of a text that was never stored")
                return
            (expected,) = FakeEmbedder(model).embed([text])
            cosine = float(view.vectors.cosines(expected, np.array([doc]))[0])
            if cosine < COSINE_MIN:
                self._fail(f"a reader has a vector for {row.id} that is not of {text!r} but {cosine:.2f} from it")

    def _live_keys(self, manifest: dict[str, Any], model: str) -> set[int]:
        held = [self._shards[item[0]].text_keys for item in manifest["vectors"] if item[3] == model]
        live = {text_key(memory_id, text) for memory_id, text in self._live_texts()}
        return live.intersection(frozenset[int]().union(*held))

    def _check(self, keyed: KeyedVectors, model: str, where: str) -> None:
        text = self._texts.get(keyed.text_key)
        if text is None:
            self._fail(f"{where} has a vector of a text that was never stored")
            return
        (expected,) = Vectoriser(FakeEmbedder(model)).vectors_of([KeyedText(keyed.text_key, text)])
        if not np.array_equal(keyed.codes, expected.codes):
            self._fail(f"{where} has for {text!r} the vector of another text")
