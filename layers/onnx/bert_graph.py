"""Writes the encoder of BERT as an ONNX graph: token ids in, one unit vector for each text out.

The graph follows Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding"
(2019). A text's vector is the mean of its tokens' vectors (Reimers and Gurevych, "Sentence-BERT", 2019), divided by
its length. Three things are computed beforehand, none of which changes the result: the three projections of attention
are one matrix, its scale is part of the queries, and the embedding of token type 0, which every token has, is part of
the positions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper

from layers.onnx.int8_operators import GraphBuilder, add_look_up, add_product

Array = npt.NDArray[np.float32]
Weights = Mapping[str, Array]

# What the oldest onnxruntime that the library allows (1.20) understands.
OPSET_VERSION: Final = 20
IR_VERSION: Final = 10
# Added to the scores of padding: so far below any real score that their share is exactly 0 in float32.
MASKED_SCORE: Final = -1e9


@dataclass(frozen=True, slots=True)
class BertShape:
    """What the weights do not tell by themselves."""

    layer_count: int
    head_count: int
    layer_norm_epsilon: float


def build_bert_graph(weights: Weights, shape: BertShape) -> onnx.ModelProto:
    """Return the 8-bit model.

    Inputs: ``input_ids`` and ``attention_mask``, int64, (texts, tokens). Output: ``embedding``, float32, (texts,
    dimension), L2-normalised.
    """
    graph = GraphBuilder()
    encoder = _Encoder(graph, weights, shape)
    mask = graph.add("Cast", "mask", ["attention_mask"], to=TensorProto.FLOAT)
    hidden = encoder.embed_tokens()
    scores_bias = encoder.masked_scores(mask)
    for number in range(shape.layer_count):
        layer = f"encoder.layer.{number}"
        hidden = encoder.attend(hidden, scores_bias, f"{layer}.attention")
        hidden = encoder.feed_forward(hidden, layer)
    encoder.pool(hidden, mask)
    return _model(graph, dimension=weights["embeddings.word_embeddings.weight"].shape[1])


class _Encoder:
    """Adds the parts of the encoder; ``name`` is always the one that the weights have in the checkpoint."""

    def __init__(self, graph: GraphBuilder, weights: Weights, shape: BertShape) -> None:
        self._graph, self._weights, self._shape = graph, weights, shape

    def embed_tokens(self) -> str:
        """Add the sum of the embeddings of each token, its position and its type, normalised."""
        graph, table = self._graph, "embeddings.word_embeddings"
        positions = graph.constant(
            "embeddings.positions",
            self._weights["embeddings.position_embeddings.weight"]
            + self._weights["embeddings.token_type_embeddings.weight"][0],
        )
        token_count = graph.add("Shape", "token_count", ["input_ids"], start=1, end=2)
        zero = graph.constant("zero", [0], np.int64)
        used = graph.add("Slice", "embeddings.used_positions", [positions, zero, token_count, zero])
        tokens = add_look_up(graph, table, "input_ids", self._weights[f"{table}.weight"])
        return self._normalise(graph.add("Add", "embeddings.sum", [tokens, used]), "embeddings.LayerNorm")

    def masked_scores(self, mask: str) -> str:
        """Add what is added to attention scores: 0 for tokens, ``MASKED_SCORE`` for padding; (texts, 1, 1, tokens)."""
        graph = self._graph
        padding = graph.add("Sub", "padding", [graph.constant("one", 1.0), mask])
        scores = graph.add("Mul", "padding.scores", [padding, graph.constant("masked_score", MASKED_SCORE)])
        return graph.add("Unsqueeze", "scores_bias", [scores, graph.constant("head_axes", [1, 2], np.int64)])

    def attend(self, hidden: str, scores_bias: str, name: str) -> str:
        """Add multi-head attention (Vaswani et al. 2017), the input added and normalised."""
        graph = self._graph
        queries, keys, values = self._project(hidden, f"{name}.self")
        scores = graph.add("MatMul", f"{name}.scores", [self._heads(queries), self._heads(keys, perm=[0, 2, 3, 1])])
        masked = graph.add("Add", f"{name}.masked", [scores, scores_bias])
        shares = graph.add("Softmax", f"{name}.shares", [masked], axis=-1)
        mixed = graph.add("MatMul", f"{name}.mixed", [shares, self._heads(values)])
        rows = graph.add("Transpose", f"{name}.mixed.rows", [mixed], perm=[0, 2, 1, 3])
        flat = graph.add("Reshape", f"{name}.flat", [rows, graph.constant("flat_shape", [0, 0, -1], np.int64)])
        return self._close(flat, hidden, f"{name}.output")

    def feed_forward(self, hidden: str, name: str) -> str:
        """Add two dense layers with exact GELU (Hendrycks and Gimpel 2016) between, the input added and normalised."""
        wide = self._dense(hidden, f"{name}.intermediate.dense")
        active = self._graph.add("Gelu", f"{name}.intermediate.gelu", [wide])
        return self._close(active, hidden, f"{name}.output")

    def pool(self, hidden: str, mask: str) -> str:
        """Add the direction of the mean over the tokens that are no padding; their sum has the same direction."""
        graph = self._graph
        row_mask = graph.add("Unsqueeze", "row_mask", [mask, graph.constant("last_axis", [-1], np.int64)])
        kept = graph.add("Mul", "kept", [hidden, row_mask])
        total = graph.add("ReduceSum", "total", [kept, graph.constant("token_axis", [1], np.int64)], keepdims=0)
        return graph.add("LpNormalization", "embedding", [total], axis=-1, p=2)

    def _project(self, hidden: str, name: str) -> list[str]:
        parts = [f"{name}.{part}" for part in ("query", "key", "value")]
        matrix = np.concatenate([self._weights[f"{part}.weight"].T for part in parts], axis=1)
        bias = np.concatenate([self._weights[f"{part}.bias"] for part in parts])
        dimension = matrix.shape[0]
        scale = np.float32((dimension // self._shape.head_count) ** -0.5)
        matrix[:, :dimension] *= scale
        bias[:dimension] *= scale
        return self._graph.split(self._affine(hidden, name, matrix, bias=bias), parts)

    def _heads(self, part: str, *, perm: tuple[int, ...] | list[int] = (0, 2, 1, 3)) -> str:
        shape = self._graph.constant("heads_shape", [0, 0, self._shape.head_count, -1], np.int64)
        heads = self._graph.add("Reshape", f"{part}.heads", [part, shape])
        return self._graph.add("Transpose", f"{part}.by_head", [heads], perm=perm)

    def _dense(self, hidden: str, name: str) -> str:
        return self._affine(hidden, name, self._weights[f"{name}.weight"].T, bias=self._weights[f"{name}.bias"])

    def _affine(self, hidden: str, name: str, matrix: Array, *, bias: Array) -> str:
        product = add_product(self._graph, f"{name}.product", hidden, matrix)
        return self._graph.add("Add", name, [product, self._graph.constant(f"{name}.bias", bias)])

    def _close(self, change: str, hidden: str, name: str) -> str:
        dense = self._dense(change, f"{name}.dense")
        return self._normalise(self._graph.add("Add", f"{name}.sum", [dense, hidden]), f"{name}.LayerNorm")

    def _normalise(self, hidden: str, name: str) -> str:
        parameters = [
            self._graph.constant(f"{name}.{part}", self._weights[f"{name}.{part}"]) for part in ("weight", "bias")
        ]
        epsilon = self._shape.layer_norm_epsilon
        return self._graph.add("LayerNormalization", name, [hidden, *parameters], axis=-1, epsilon=epsilon)


def _model(graph: GraphBuilder, *, dimension: int) -> onnx.ModelProto:
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["texts", dimension])
    body = helper.make_graph(graph.nodes, "bert_encoder", inputs, [output], initializer=[*graph.initializers.values()])
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", OPSET_VERSION)], ir_version=IR_VERSION)
    onnx.checker.check_model(model)
    return model
