"""An empty store with a settable clock."""

import pytest

from tests.unit.service.worlds import World


@pytest.fixture
def world() -> World:
    return World()
