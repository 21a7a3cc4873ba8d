"""What ``s3_agent_memory`` exports is decided here, and importing it stays cheap."""

import s3_agent_memory
from tests.architecture.project import run_python

# Removing a name from this list breaks somebody's program: see the changelog.
PUBLIC_NAMES = [
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

HEAVY_MODULES = {"boto3", "botocore", "numba", "numpy", "onnxruntime", "pydantic"}


def exported_names() -> list[str]:
    return list(getattr(s3_agent_memory, "__all__", []))


def test_exported_names_are_the_documented_ones() -> None:
    assert sorted(exported_names()) == sorted(PUBLIC_NAMES)


def test_every_exported_name_resolves() -> None:
    missing = [name for name in exported_names() if not hasattr(s3_agent_memory, name)]
    assert not missing


def test_importing_the_package_loads_no_heavy_module() -> None:
    loaded = set(run_python("import s3_agent_memory, sys; print(*sys.modules)").split())
    assert not loaded & HEAVY_MODULES
