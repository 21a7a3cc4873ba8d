"""Synthesis takes seconds, so one worker runs all of these tests and synthesises each template once."""

import os
from pathlib import Path

import pytest

from tests.infra.synthesis import Template, synthesise

_FOLDER = Path(__file__).parent


def pytest_configure() -> None:
    """Keep the runtime below the CDK, which starts with the first synthesis, from saying at length that it is old."""
    os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of this folder in one worker."""
    for item in items:
        if item.path.is_relative_to(_FOLDER):
            item.add_marker(pytest.mark.xdist_group("infra"))


@pytest.fixture(scope="session")
def template() -> Template:
    """The stack with default settings."""
    return synthesise()
