"""The embedding model, built once and kept in `.build/model`, for every test that embeds with it."""

from functools import cache
from pathlib import Path

import pytest

from layers.onnx.build_model import build_model
from layers.onnx.source_package import DownloadError


def model_directory() -> Path:
    """Return the built model; test processes that ask at once wait for the one that builds.

    The test is skipped if the weights cannot be downloaded, and only then.
    """
    built = _build_once()
    if isinstance(built, DownloadError):
        pytest.skip(f"the embedding model could not be built: {built}")
    return built


@cache
def _build_once() -> Path | DownloadError:
    try:
        return build_model()
    except DownloadError as error:
        return error
