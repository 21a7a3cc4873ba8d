"""Fixtures of the HTTP API's tests."""

import pytest

from tests.functions.deployment import make_client


@pytest.fixture
def client():
    """A client with a namespace of its own."""
    return make_client()
