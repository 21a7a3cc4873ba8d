"""The encoder of BERT in plain numpy and float32, one text at a time: what the 8-bit graph is checked against.

Written from the papers (see ``bert_graph``) and not from the graph, so that a mistake in one of them shows.
"""

import math

import numpy as np

from layers.onnx.bert_graph import Array, BertShape, Weights

_error_function = np.vectorize(math.erf, otypes=[np.float32])


def embed_reference(weights: Weights, shape: BertShape, token_ids: list[int]) -> Array:
    """Return the unit vector of one text, (dimension,)."""
    hidden = _embed_tokens(weights, token_ids, shape.layer_norm_epsilon)
    for number in range(shape.layer_count):
        hidden = _encode(weights, f"encoder.layer.{number}", hidden, shape=shape)
    mean: Array = hidden.mean(axis=0)
    return mean / np.linalg.norm(mean)


def _embed_tokens(weights: Weights, token_ids: list[int], epsilon: float) -> Array:
    words = weights["embeddings.word_embeddings.weight"][token_ids]
    positions = weights["embeddings.position_embeddings.weight"][: len(token_ids)]
    types = weights["embeddings.token_type_embeddings.weight"][0]
    return _normalise(weights, "embeddings.LayerNorm", words + positions + types, epsilon=epsilon)


def _encode(weights: Weights, name: str, hidden: Array, *, shape: BertShape) -> Array:
    epsilon = shape.layer_norm_epsilon
    mixed = _attend(weights, f"{name}.attention.self", hidden, head_count=shape.head_count)
    attended = _dense(weights, f"{name}.attention.output.dense", mixed)
    hidden = _normalise(weights, f"{name}.attention.output.LayerNorm", attended + hidden, epsilon=epsilon)
    wide = _gelu(_dense(weights, f"{name}.intermediate.dense", hidden))
    narrow = _dense(weights, f"{name}.output.dense", wide)
    return _normalise(weights, f"{name}.output.LayerNorm", narrow + hidden, epsilon=epsilon)


def _attend(weights: Weights, name: str, hidden: Array, *, head_count: int) -> Array:
    queries, keys, values = (
        np.split(_dense(weights, f"{name}.{part}", hidden), head_count, axis=1) for part in ("query", "key", "value")
    )
    heads = [
        _softmax(query @ key.T / math.sqrt(query.shape[1])) @ value
        for query, key, value in zip(queries, keys, values, strict=True)
    ]
    return np.concatenate(heads, axis=1)


def _dense(weights: Weights, name: str, hidden: Array) -> Array:
    return hidden @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _normalise(weights: Weights, name: str, hidden: Array, *, epsilon: float) -> Array:
    centred = hidden - hidden.mean(axis=1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + epsilon)
    normalised: Array = centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]
    return normalised


def _softmax(scores: Array) -> Array:
    shares: Array = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def _gelu(values: Array) -> Array:
    active: Array = values * (1 + _error_function(values / math.sqrt(2))) / 2
    return active
