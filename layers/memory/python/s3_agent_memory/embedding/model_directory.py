"""Reads ``model.toml``, which says what a directory with an ONNX embedding model holds."""

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from s3_agent_memory.errors import ValidationError

DESCRIPTION_NAME: Final = "model.toml"


class Pooling(StrEnum):
    """How the vectors of tokens become one of the text."""

    NONE = "none"  # The graph does it.
    MEAN = "mean"
    FIRST = "first"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDirectory:
    """An embedding model on disk.

    Attributes:
        name: identifies weights, arithmetic and text preparation.
        graph, tokenizer: its files, a graph of onnxruntime and a ``tokenizer.json``.
        dimension: numbers of one vector.
        token_count_max: longer texts are cut, special tokens and prefix included.
        pooling: how vectors of tokens become one of the text.
        passage_prefix, query_prefix: put before texts and queries.
    """

    name: str
    graph: Path
    tokenizer: Path
    dimension: int
    token_count_max: int
    pooling: Pooling
    passage_prefix: str = ""
    query_prefix: str = ""


def read_model_directory(directory: Path) -> ModelDirectory:
    """Read the description; the files it names are there, but are not opened.

    Raises:
        ValidationError: there is no model, or its description is not complete.
    """
    path = directory / DESCRIPTION_NAME
    try:
        document = tomllib.loads(path.read_text("utf-8"))
        model = _decode(directory, document)
    except FileNotFoundError as error:
        raise ValidationError(
            f"{directory.absolute()} holds no embedding model: there is no {DESCRIPTION_NAME}. `make model` of the "
            "project builds one in .build/model; --embedding-model or S3_AGENT_MEMORY_EMBEDDING_MODEL says where it is"
        ) from error
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ValidationError(f"{path} does not describe an embedding model: {error!r}") from error
    missing = [file.name for file in (model.graph, model.tokenizer) if not file.is_file()]
    if missing:
        raise ValidationError(f"{directory} is not complete: {', '.join(missing)} is missing")
    return model


def _decode(directory: Path, document: dict[str, Any]) -> ModelDirectory:
    return ModelDirectory(
        name=_text(document, "name"),
        graph=directory / _text(document["files"], "graph"),
        tokenizer=directory / _text(document["files"], "tokenizer"),
        dimension=_count(document, "dimension"),
        token_count_max=_count(document, "token_count_max"),
        pooling=Pooling(document["pooling"]),
        passage_prefix=_text(document, "passage_prefix", default=""),
        query_prefix=_text(document, "query_prefix", default=""),
    )


def _text(table: dict[str, Any], field: str, *, default: str | None = None) -> str:
    value = table.get(field, default)
    if not isinstance(value, str) or (default is None and not value):
        raise ValueError(f"{field} has to be a text")
    return value


def _count(table: dict[str, Any], field: str) -> int:
    value = table.get(field)
    if type(value) is not int or value < 1:
        raise ValueError(f"{field} has to be a whole number above 0")
    return value
