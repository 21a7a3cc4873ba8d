"""A token kept in a file that only its owner can read, for people who run the system on their own machine."""

import os
from pathlib import Path
from typing import Final

from s3_agent_memory.errors import AuthenticationError
from s3_agent_memory.service.tokens import TokenService

OWNER_ONLY: Final = 0o600
_SIZE_MAX: Final = 1_024


def ensure_token(path: Path, tokens: TokenService, *, principal: str, namespace: str) -> bool:
    """Make sure that ``path`` holds a valid token, and return True if a new one was made.

    Args:
        principal: whom a new token is for.
        namespace: what a new token gives access to, for reading and writing.

    Raises:
        BackendError: the storage behind the tokens failed.
        OSError: the file cannot be read or written.
    """
    if _holds_valid_token(path, tokens):
        return False
    token, _ = tokens.create(principal=principal, namespace=namespace, permissions=("read", "write"))
    path.parent.mkdir(parents=True, exist_ok=True)
    new_path = path.with_name(f"{path.name}.{os.getpid()}.new")
    with os.fdopen(os.open(new_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY), "w") as file:
        file.write(token + "\n")
    new_path.replace(path)
    return True


def _holds_valid_token(path: Path, tokens: TokenService) -> bool:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            tokens.verify(file.read(_SIZE_MAX).strip())
    except (FileNotFoundError, AuthenticationError):
        return False
    return True
