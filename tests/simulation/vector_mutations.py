"""Deliberate mistakes in what keeps vectors right; see ``mutations``."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import ANY, patch

import numpy as np

from s3_agent_memory.index.log import EntryVectors
from s3_agent_memory.index.vectors.merge import merge_shards
from s3_agent_memory.service.upkeep import embedding, folder, vector_compactor
from s3_agent_memory.service.upkeep.vector_compactor import VectorCompactor

_FOREVER_MS = 10**15


def _fold_trusts_entries() -> list[Any]:
    def vectors_for(rows: Any, entries: Any) -> list[EntryVectors]:
        text_keys = {row.id: row.text_key for row in rows if row.text_key}
        return [
            replace(entry.vectors, keyed=replace(entry.vectors.keyed, text_key=text_keys[entry.row.id]))
            for entry in entries
            if entry.vectors is not None and entry.row.id in text_keys
        ]

    return [patch.object(folder, "_vectors_for", vectors_for)]


def _judged_by_an_older_snapshot() -> list[Any]:
    def older(method: Any) -> Any:
        def run(self: Any, namespace: Any, **options: Any) -> Any:
            def view(*arguments: Any) -> Any:
                seen = self._reader.view(*arguments)
                return SimpleNamespace(snapshot=seen.snapshot, head=self._heads.load(namespace))

            mistaken = copy(self)
            mistaken._reader = SimpleNamespace(view=view)
            return method(mistaken, namespace, **options)

        return run

    return [patch.object(VectorCompactor, name, older(getattr(VectorCompactor, name))) for name in ("compact", "purge")]


def _merges_keep_everything() -> list[Any]:
    original = merge_shards

    def merge(shards: Any, **_options: Any) -> bytes:
        return original(shards, keep=lambda keys: np.ones(len(keys), np.bool_))

    return [
        patch.object(vector_compactor, "merge_shards", merge),
        patch.object(VectorCompactor, "purge", lambda *_args, **_options: 0),
    ]


VECTOR_MUTATIONS: dict[str, tuple[str, Callable[[], list[Any]], int]] = {
    "fold_trusts_entry_vectors": (
        "a fold files the vector of a log entry under the text that the object has now",
        _fold_trusts_entries,
        400,
    ),
    "embedder_trusts_the_row": (
        "an embedder does not ask whether the object still has the row's text",
        lambda: [patch.object(embedding, "text_key", lambda *_: ANY)],
        1_500,
    ),
    "vectors_judged_by_an_older_snapshot": (
        "a merge drops what an older snapshot than its manifest does not know",
        _judged_by_an_older_snapshot,
        1_500,
    ),
    "vectors_of_the_dead_are_kept": ("merges and sweeps keep every vector", _merges_keep_everything, 400),
    "foreign_vectors_dropped_at_once": (
        "the vectors of another model go as soon as the new ones are there",
        lambda: [patch.object(embedding, "MODEL_GRACE_MS", -_FOREVER_MS)],
        400,
    ),
    "old_vectors_committed": (
        "an embedder commits however old its upload is",
        lambda: [
            patch.object(embedding, "UPLOAD_AGE_MAX_MS", _FOREVER_MS),
            patch.object(vector_compactor, "UPLOAD_AGE_MAX_MS", _FOREVER_MS),
        ],
        0,
    ),
}
