"""Importing the client loads none of what only the service needs."""

from tests.architecture.project import run_python

HEAVY = {"boto3", "botocore", "numpy", "onnxruntime", "mcp", "urllib3", "aws_lambda_powertools", "pydantic_ai"}


def test_the_client_loads_no_library_of_the_service() -> None:
    loaded = set(run_python("import s3_agent_memory.client, sys; print(*sys.modules)").split())
    assert "httpx" in loaded
    assert not loaded & HEAVY


def test_the_client_loads_no_part_of_the_service() -> None:
    loaded = set(run_python("import s3_agent_memory.client, sys; print(*sys.modules)").split())
    parts = {name.split(".")[1] for name in loaded if name.startswith("s3_agent_memory.")}
    assert parts <= {"client", "domain", "errors", "names", "wire"}
