"""Adds 8-bit matrix products and look-up tables to an ONNX graph.

Weights are quantised once, one scale for each column; activations while the model runs, one scale and one offset for
each row, that is for each token (Yao et al., "ZeroQuant", 2022). The usual dynamic quantisation has one of each for a
whole batch: then the vector of a text depends on the texts it happens to be embedded with, and one odd token costs all
others precision.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[np.float32]

# Activations become 0..255, weights -127..127: the fast kernels multiply unsigned with signed numbers.
ACTIVATION_MAX: Final = 255
WEIGHT_MAX: Final = 127
# Processors without VNNI add two neighbouring products in 16 bits: 255 * 128 fits, more might saturate. Scaling by the
# largest sum of two neighbours (127, and 1 for rounding) makes every processor compute the same integers.
NEIGHBOUR_SUM_MAX: Final = 127
# Keeps a row of equal numbers from being divided by zero.
SPREAD_FLOOR: Final = 1e-9


class GraphBuilder:
    """Collects nodes and constants; a method that adds a node returns the name of its output."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, values: npt.ArrayLike, dtype: npt.DTypeLike = np.float32) -> str:
        """Add a constant (once, if it is asked for again) and return its name."""
        if name not in self.initializers:
            self.initializers[name] = numpy_helper.from_array(np.array(values, dtype, order="C"), name)
        return name

    def add(self, operator: str, output: str, inputs: list[str], **attributes: Any) -> str:
        """Add the node that computes ``output``."""
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output

    def split(self, value: str, outputs: list[str]) -> list[str]:
        """Add a node that cuts ``value`` into equal parts along its last axis."""
        node = helper.make_node("Split", [value], outputs, name=f"{value}.split", axis=-1, num_outputs=len(outputs))
        self.nodes.append(node)
        return outputs


def add_product(graph: GraphBuilder, output: str, value: str, matrix: Array) -> str:
    """Add ``value @ matrix``; the rows of ``value`` lie along its last axis.

    A row is its smallest number plus ``step`` times its codes, so its product is ``step * (codes @ matrix)`` plus the
    smallest number times the sums of the columns.
    """
    weights, scales = quantise_columns(matrix)
    codes, step, smallest = _quantise_rows(graph, value)
    sums = graph.add("MatMulInteger", f"{output}.sums", [codes, graph.constant(f"{output}.weights", weights, np.int8)])
    numbers = graph.add("Cast", f"{output}.numbers", [sums], to=TensorProto.FLOAT)
    by_column = graph.add("Mul", f"{output}.by_column", [numbers, graph.constant(f"{output}.scales", scales)])
    by_row = graph.add("Mul", f"{output}.by_row", [by_column, step])
    column_sums = graph.constant(f"{output}.column_sums", weights.sum(axis=0) * scales)
    return graph.add("Add", output, [by_row, graph.add("Mul", f"{output}.offset", [smallest, column_sums])])


def add_look_up(graph: GraphBuilder, output: str, indexes: str, table: Array) -> str:
    """Add ``table[indexes]``, kept in 8 bits with one scale for each row."""
    scales = np.maximum(np.abs(table).max(axis=1, keepdims=True), SPREAD_FLOOR) / WEIGHT_MAX
    codes_name = graph.constant(f"{output}.table", np.round(table / scales), np.int8)
    codes = graph.add("Gather", f"{output}.codes", [codes_name, indexes])
    row_scales = graph.add("Gather", f"{output}.row_scales", [graph.constant(f"{output}.scales", scales), indexes])
    numbers = graph.add("Cast", f"{output}.numbers", [codes], to=TensorProto.FLOAT)
    return graph.add("Mul", output, [numbers, row_scales])


def quantise_columns(matrix: Array) -> tuple[npt.NDArray[np.int8], Array]:
    """Return the matrix as 8-bit numbers, and the scale of each column.

    No two neighbours of a column (its first and second, third and fourth number, and so on) have absolute values that
    sum to more than 128.
    """
    neighbour_sums = np.abs(matrix).reshape(-1, 2, matrix.shape[1]).sum(axis=1)
    scales = np.maximum(neighbour_sums.max(axis=0), SPREAD_FLOOR) / NEIGHBOUR_SUM_MAX
    return np.round(matrix / scales).astype(np.int8), scales.astype(np.float32)


def _quantise_rows(graph: GraphBuilder, value: str) -> tuple[str, str, str]:
    """Add the quantisation of each row; returns its codes, its step and its smallest number."""
    last_axis = graph.constant("last_axis", [-1], np.int64)
    smallest = graph.add("ReduceMin", f"{value}.smallest", [value, last_axis], keepdims=1)
    largest = graph.add("ReduceMax", f"{value}.largest", [value, last_axis], keepdims=1)
    found_spread = graph.add("Sub", f"{value}.found_spread", [largest, smallest])
    spread = graph.add("Max", f"{value}.spread", [found_spread, graph.constant("spread_floor", SPREAD_FLOOR)])
    step = graph.add("Div", f"{value}.step", [spread, graph.constant("activation_max", ACTIVATION_MAX)])
    shifted = graph.add("Sub", f"{value}.shifted", [value, smallest])
    steps = graph.add("Mul", f"{value}.steps", [shifted, graph.add("Reciprocal", f"{value}.factor", [step])])
    unit = [graph.constant("unit_scale", 1.0), graph.constant("code_zero", 0, np.uint8)]
    return graph.add("QuantizeLinear", f"{value}.codes", [steps, *unit]), step, smallest
