"""The stack in the emulated account: deployed and destroyed by the same tool and template as anywhere else."""

import json
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.e2e.emulator import ACCOUNT, REGION, Emulator
from tests.e2e.processes import PROJECT, run

STACK_NAME = "S3AgentMemory"
# What takes minutes or hours in an account takes seconds here.
CONTEXT = {
    "pruneRate": "rate(1 minute)",
    "sweepRate": "rate(1 minute)",
    "sessionSweepRate": "rate(1 minute)",
    "indexerBatchWindowSeconds": "1",
    "embedderBatchWindowSeconds": "1",
    "digesterBatchWindowSeconds": "1",
    "indexerTimeoutSeconds": "30",
    "visibilityTimeoutSeconds": "31",
    "indexerReceiveCountMax": "2",
    "tokenCacheSeconds": "5",
}
_DEPLOY_SECONDS = 420
_ARCHITECTURES = {"x86_64": "x86_64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A deployed stack.

    Attributes:
        api_url: of the HTTP API, with a slash at the end.
        outputs: of the stack, by name.
    """

    api_url: str
    outputs: Mapping[str, str]


def bootstrap(emulator: Emulator) -> None:
    """Prepare the account for deployments, once."""
    # In the directory of the app the tool would run the app as well.
    empty = emulator.directory / "empty"
    empty.mkdir()
    _cdk(emulator, "bootstrap", f"aws://{ACCOUNT}/{REGION}", directory=empty)


def deploy(emulator: Emulator) -> Deployment:
    """Synthesise the app for the emulator, deploy it and return what it says about itself."""
    outputs_path = emulator.directory / "outputs.json"
    context = CONTEXT | {
        "architecture": _ARCHITECTURES[platform.machine()],
        "pythonVersion": _python_version(emulator),
        "publicUrl": emulator.url,
    }
    arguments = [word for name, value in context.items() for word in ("--context", f"{name}={value}")]
    answer = ("--require-approval", "never", "--outputs-file", outputs_path)
    _cdk(emulator, "deploy", STACK_NAME, "--output", _assembly(emulator), *answer, *arguments)
    outputs = json.loads(outputs_path.read_text())[STACK_NAME]
    # Host names of APIs do not resolve; the first label is the API's id.
    api_id = (urlsplit(outputs["ApiEndpoint"]).hostname or "").partition(".")[0]
    return Deployment(api_url=f"{emulator.url}/_aws/execute-api/{api_id}/$default/", outputs=outputs)


def destroy(emulator: Emulator) -> None:
    """Destroy the stack as it was deployed."""
    _cdk(emulator, "destroy", STACK_NAME, "--force", "--app", _assembly(emulator))


def _assembly(emulator: Emulator) -> Path:
    return emulator.directory / "cdk.out"


def _python_version(emulator: Emulator) -> str:
    """Return the version of the interpreter that runs functions; compiled packages of the layers must fit it."""
    program = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.check_output([emulator.tools.python, "-c", program], text=True).strip()


def _cdk(emulator: Emulator, *arguments: str | Path, directory: Path = PROJECT) -> None:
    run([*emulator.tools.cdk, *arguments], emulator.environment(), seconds=_DEPLOY_SECONDS, directory=directory)
