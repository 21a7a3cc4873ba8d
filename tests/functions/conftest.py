"""Fixtures of the functions' tests."""

import pytest

from tests.functions.deployment import make_client
from tests.functions.stack_process import Stack


@pytest.fixture
def client():
    """A client with a namespace of its own."""
    return make_client()


@pytest.fixture
def start_stack(tmp_path):
    """Start local stacks in one folder; all are stopped at the end."""
    started = []

    def start(**environment):
        started.append(Stack(tmp_path, **environment))
        return started[-1]

    yield start
    for stack in started:
        stack.stop()
