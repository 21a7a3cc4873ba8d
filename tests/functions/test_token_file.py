"""The token that is made for whoever starts the stack on their own machine."""

import pytest

from s3_agent_memory import bootstrap
from s3_agent_memory.domain.grants import Permission
from s3_agent_memory.edge.token_file import ensure_token


@pytest.fixture
def tokens():
    return bootstrap.build_token_service(bootstrap.Settings(url="memory://"))


def test_the_token_may_read_and_write(tmp_path, tokens):
    path = tmp_path / "new" / "token"
    assert ensure_token(path, tokens, principal="local", namespace="default") is True
    assert tokens.verify(path.read_text().strip()).permissions == {Permission.READ, Permission.WRITE}


def test_a_token_that_is_valid_is_kept(tmp_path, tokens):
    path = tmp_path / "token"
    ensure_token(path, tokens, principal="local", namespace="default")
    kept = path.read_text()
    assert ensure_token(path, tokens, principal="local", namespace="default") is False
    assert path.read_text() == kept
