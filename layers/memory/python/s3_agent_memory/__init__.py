"""Long-term memory for AI agents as plain JSON objects in any S3-compatible bucket or directory.

Public names are loaded when they are first used, so that importing one part does not load the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from s3_agent_memory.bootstrap import MemoryStore, Settings
    from s3_agent_memory.domain.kinds import Kind
    from s3_agent_memory.domain.limits import Limits
    from s3_agent_memory.domain.memory import Attribution, Memory
    from s3_agent_memory.domain.ranking import Ranking, Signals
    from s3_agent_memory.errors import (
        AccessDeniedError,
        AgentMemoryError,
        AuthenticationError,
        BackendError,
        BudgetExceededError,
        ConflictError,
        CorruptError,
        CursorTooOldError,
        EmbeddingError,
        ForgottenError,
        GenerationError,
        LimitExceededError,
        NotFoundError,
        OtherKindError,
        ThrottledError,
        UnknownOutcomeError,
        UnusableAnswerError,
        ValidationError,
    )
    from s3_agent_memory.service.results import Hit, MemoryPage, RecallResult

_MODULES = {
    "AccessDeniedError": "errors",
    "AgentMemoryError": "errors",
    "Attribution": "domain.memory",
    "AuthenticationError": "errors",
    "BackendError": "errors",
    "BudgetExceededError": "errors",
    "ConflictError": "errors",
    "CorruptError": "errors",
    "CursorTooOldError": "errors",
    "EmbeddingError": "errors",
    "ForgottenError": "errors",
    "GenerationError": "errors",
    "Hit": "service.results",
    "Kind": "domain.kinds",
    "LimitExceededError": "errors",
    "Limits": "domain.limits",
    "Memory": "domain.memory",
    "MemoryPage": "service.results",
    "MemoryStore": "bootstrap",
    "NotFoundError": "errors",
    "OtherKindError": "errors",
    "Ranking": "domain.ranking",
    "RecallResult": "service.results",
    "Settings": "bootstrap",
    "Signals": "domain.ranking",
    "ThrottledError": "errors",
    "UnknownOutcomeError": "errors",
    "UnusableAnswerError": "errors",
    "ValidationError": "errors",
}

__all__ = [
    "AccessDeniedError",
    "AgentMemoryError",
    "Attribution",
    "AuthenticationError",
    "BackendError",
    "BudgetExceededError",
    "ConflictError",
    "CorruptError",
    "CursorTooOldError",
    "EmbeddingError",
    "ForgottenError",
    "GenerationError",
    "Hit",
    "Kind",
    "LimitExceededError",
    "Limits",
    "Memory",
    "MemoryPage",
    "MemoryStore",
    "NotFoundError",
    "OtherKindError",
    "Ranking",
    "RecallResult",
    "Settings",
    "Signals",
    "ThrottledError",
    "UnknownOutcomeError",
    "UnusableAnswerError",
    "ValidationError",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        # Takes a twentieth of a second to import, and hardly anybody asks.
        return import_module("importlib.metadata").version("s3-agent-memory")
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)
