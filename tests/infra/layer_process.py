"""A handler run as a cold start: nothing on the module path but its own folder and the layers it is deployed with."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infra.function_table import FUNCTIONS, FunctionSpec
from infra.layer_build import ROOT, Target, build_layer
from tests.infra.synthesis import read_settings

_TIMEOUT_SECONDS = 120
_NO_NETWORK = (
    "Temporary failure in name resolution",
    "Connection refused",
    "Network is unreachable",
    "NewConnectionError",
)
_PROGRAM = """
import json, sys, time
sys.path[:] = [path for path in sys.path if "site-packages" not in path and "dist-packages" not in path]
folders, event = json.loads(sys.argv[1]), json.loads(sys.argv[2])
sys.path[:0] = folders
started = time.perf_counter()
import handler
seconds = time.perf_counter() - started

class Context:
    function_name = "under-test"
    memory_limit_in_mb = 1769
    invoked_function_arn = "arn:aws:lambda:eu-central-1:123456789012:function:under-test"
    aws_request_id = "c6af9ac6-7b61-11e6-9a41-93e8deadbeef"
    def get_remaining_time_in_millis(self):
        return 60_000

def packages():
    return sorted({name.partition(".")[0] for name in sys.modules})

loaded = packages()
answer = handler.lambda_handler(event, Context())
places = sorted({getattr(module, "__file__", None) or "" for module in list(sys.modules.values())})
print(json.dumps({"seconds": seconds, "loaded": loaded, "used": packages(), "places": places, "answer": answer}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdStart:
    """What one cold start and its first invocation did.

    Attributes:
        seconds: that the import of the handler took.
        loaded: packages that were loaded by then.
        used: packages that were loaded after the invocation.
        places: files of all modules.
        answer: of the invocation.
    """

    seconds: float
    loaded: frozenset[str]
    used: frozenset[str]
    places: tuple[str, ...]
    answer: Any


def host_target() -> Target:
    """Return what layers must be built for to run here."""
    machine = os.uname().machine
    return Target({"aarch64": "arm64"}.get(machine, machine), f"{sys.version_info.major}.{sys.version_info.minor}")


def layer_folder(name: str, target: Target) -> Path:
    """Return the built layer; without the package index, and without an earlier build, the test is skipped."""
    try:
        return build_layer(name, target)
    except RuntimeError as error:
        if any(sign in str(error) for sign in _NO_NETWORK):
            pytest.skip(f"the layer {name} cannot be built without the package index: {str(error)[:200]}")
        raise


@cache
def spec_of(name: str) -> FunctionSpec:
    """Return the row of a function."""
    (found,) = [spec for spec in FUNCTIONS if spec.name == name]
    return found


def start(name: str, event: dict[str, Any], *, url: str, **variables: str) -> ColdStart:
    """Start a function in a process of its own, invoke it once, and return what happened.

    Args:
        variables: of the environment, without their prefix.
    """
    spec, context = spec_of(name), {"oidcIssuer": "https://login.example.org"} if "OIDC_ISSUER" in variables else {}
    settings = read_settings(**context)
    layers = [layer_folder(layer, host_target()) / "python" for layer in spec.layers(settings)]
    folders = [str(ROOT / "functions" / name), *map(str, layers)]
    environment = {
        "PATH": os.defpath,
        "S3_AGENT_MEMORY_URL": url,
        "S3_AGENT_MEMORY_EMBEDDINGS": settings.embeddings if spec.embeds else "none",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "POWERTOOLS_METRICS_DISABLED": "true",
        **{f"S3_AGENT_MEMORY_{key}": value for key, value in variables.items()},
    }
    # Lambda mounts layers read-only, so no bytecode is written here either.
    command = [sys.executable, "-I", "-S", "-B", "-c", _PROGRAM, json.dumps(folders), json.dumps(event)]
    # The usual place of the model, below the working directory, is none of the function's.
    done = subprocess.run(
        command, cwd="/", env=environment, capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    return ColdStart(
        seconds=found["seconds"],
        loaded=frozenset(found["loaded"]),
        used=frozenset(found["used"]),
        places=tuple(found["places"]),
        answer=found["answer"],
    )
