"""Worlds whose process has an embedder, and what is known of the vectors in them."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from s3_agent_memory.bootstrap import Parts
from s3_agent_memory.index.row import text_key
from s3_agent_memory.index.vectors.shard import VectorShard
from s3_agent_memory.service.results import Consistency, EmbeddingReport
from s3_agent_memory.service.stored_index.index_reader import View
from tests.fakes.embedder import FakeEmbedder
from tests.unit.service.worlds import NAMESPACE, PLACE, World

MODEL = "fake/1"


def open_world(**options: Any) -> World:
    """Return a world whose process under test embeds with ``fake/1``."""
    return World(embedder=FakeEmbedder(MODEL), **options)


def another_embedder(world: World, model: str = MODEL) -> Parts:
    """Open another process with an embedder."""
    return world.another_process(embedder=FakeEmbedder(model))


def remember_without_vectors(world: World, texts: Iterable[str], *, fold: bool = True) -> list[str]:
    """Store texts by a process that has no embedder; return the ids."""
    memories = world.another_process().memories
    ids = [memories.remember(NAMESPACE, text).id for text in texts]
    if fold:
        world.fold()
    return ids


def embed(world: World, parts: Parts | None = None, *, takes_over: bool = False) -> EmbeddingReport:
    """Embed what is missing and merge, in the process under test unless another one is given."""
    vectors = (parts or world.parts).services.vectors
    report = vectors.embed(PLACE, takes_over=takes_over)
    vectors.merge(PLACE)
    assert report is not None
    return report


def view_of(world: World, model: str = MODEL, consistency: Consistency = Consistency.STRONG) -> View:
    """Return what a fresh process with an embedder sees."""
    return another_embedder(world, model).services.index.view(PLACE, consistency)


def vector_count(world: World, model: str = MODEL, consistency: Consistency = Consistency.STRONG) -> int:
    """Return how many memories have a vector for a fresh process."""
    vectors = view_of(world, model, consistency).vectors
    assert vectors is not None
    return vectors.vector_count


def cosine(world: World, memory_id: str, text: str, model: str = MODEL) -> float:
    """Return how near the vector of a memory is to that of a text, NaN if it has none."""
    view = view_of(world, model)
    assert view.vectors is not None
    docs = view.snapshot.live_docs()
    (doc,) = [doc for doc in docs.tolist() if view.snapshot.identity(doc)[0] == memory_id]
    return float(view.vectors.cosines(FakeEmbedder(model).embed_query(text), np.array([doc]))[0])


def shards(world: World) -> dict[str, VectorShard]:
    """Return every shard file that exists, named by a manifest or not."""
    prefix = f"memory/{NAMESPACE}/_index/vectors/"
    found = {}
    for key in world.store.keys_below(prefix):
        stored = world.store.inner.get(key, size_max=2**30)
        assert stored is not None
        found[key.removeprefix(prefix).removesuffix(".vec")] = VectorShard.decode(stored.body, key)
    return found


def keys_in_use(world: World) -> set[int]:
    """Return the text keys in the shards that the manifest names."""
    held = shards(world)
    return {key for ref in world.manifest.vectors for key in held[ref.id].text_keys.tolist()}


def key_of(memory_id: str, text: str) -> int:
    """Return the key of a text's vectors."""
    return text_key(memory_id, text)
