"""Fixtures of the MCP suites."""

import pytest

from tests.mcp.remote import Deployment


@pytest.fixture
def deployment():
    """An endpoint over a store of its own."""
    return Deployment()


@pytest.fixture
def alice(deployment):
    """A caller who may read and write ``users/alice``."""
    return deployment.caller()
