"""The AWS emulator: a process of its own on a free port, gone without a trace when the suite ends.

What it does not do, and what the suite makes of it:

- It has no lifecycle rules and gives alarms no data: the tests of the template look at both.
- It does not know the condition keys of conditional requests; ``emulator_process`` adds them, so bucket policy and
  roles are enforced as they are written.
- ``/opt`` does not exist: layers are unpacked anew for each execution environment and put on ``sys.path``, in front of
  the packages of the emulator, where functions find the AWS SDK that the Lambda runtime would bring.
- An event source does not wait for its batch window and hands over at most ten messages at a time.
- A schedule starts to count when it is created and is looked at every ten seconds.
- Headers are handed on as they came; API Gateway renames some.
- An API has no host name of its own; its requests go to a path of the emulator.
"""

import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.processes import PROJECT, clean_environment
from tests.e2e.waiting import wait_for

ACCOUNT = "000000000000"
REGION = "us-east-1"
LOG_PATH = PROJECT / ".build" / "e2e" / "emulator.log"
_MEMORY = Path("/dev/shm")
_SCRATCH_BYTES = 6 * 1024**3
_START_SECONDS = 30
_LOG_LENGTH_MAX = 12_000


@dataclass(frozen=True, slots=True)
class Tools:
    """Programs that are not part of the project's own environment.

    Attributes:
        python: the interpreter of the emulator's environment, on which functions run as well.
        cdk: the command that deploys.
    """

    python: Path
    cdk: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Emulator:
    """A running emulator.

    Attributes:
        tools: what it was started with.
        url: the endpoint of every AWS service.
        authority_path: the certificate authority to trust.
        directory: where this run keeps what must not survive it.
    """

    tools: Tools
    url: str
    authority_path: Path
    directory: Path

    def environment(self, *, access_key_id: str = "test", secret_access_key: str = "test") -> dict[str, str]:
        """Return the environment for a program that is to work in the emulated account; by default as its root."""
        nothing = os.devnull
        return clean_environment() | {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": access_key_id,
            "AWS_SECRET_ACCESS_KEY": secret_access_key,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_CA_BUNDLE": str(self.authority_path),
            "NODE_EXTRA_CA_CERTS": str(self.authority_path),
            "AWS_CONFIG_FILE": nothing,
            "AWS_SHARED_CREDENTIALS_FILE": nothing,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def trust(self) -> ssl.SSLContext:
        """Return what an HTTP client needs to believe the emulator."""
        return ssl.create_default_context(cafile=str(self.authority_path))


@contextmanager
def running_emulator(tools: Tools) -> Iterator[Emulator]:
    """Start an emulator on a free port and stop it with all its functions at the end."""
    LOG_PATH.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_scratch(), ignore_cleanup_errors=True, prefix="e2e-") as name:
        directory = Path(name)
        port = _free_port()
        process = _start(tools.python, directory, port)
        try:
            emulator = Emulator(tools, f"https://127.0.0.1:{port}", directory / "ca.pem", directory)
            wait_for(lambda: _is_ready(emulator, process), what="the emulator to answer", seconds=_START_SECONDS)
            yield emulator
        finally:
            _stop(process)


def log_tail() -> str:
    """Return the end of what the emulator has logged."""
    return LOG_PATH.read_text(errors="replace")[-_LOG_LENGTH_MAX:] if LOG_PATH.exists() else ""


def _scratch() -> Path:
    """Return where the run keeps its files: tens of thousands of unpacked ones, so in memory where there is room."""
    has_room = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _SCRATCH_BYTES
    return _MEMORY if has_room else LOG_PATH.parent


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _start(python: Path, directory: Path, port: int) -> "subprocess.Popen[bytes]":
    temporary = directory / "tmp"
    temporary.mkdir()
    authority = str(directory / "ca.pem")
    environment = clean_environment() | {
        "GATEWAY_PORT": str(port),
        "BIND_HOST": "127.0.0.1",
        # Credentials and policies count.
        "AUTH": "true",
        "IOT_MTLS_ENABLED": "0",
        # Execution environments unpack their layers here.
        "TMPDIR": str(temporary),
        # Functions inherit these and so trust the emulator.
        "AWS_CA_BUNDLE": authority,
        "SSL_CERT_FILE": authority,
    }
    with LOG_PATH.open("wb") as log:
        return subprocess.Popen(
            [python, Path(__file__).with_name("emulator_process.py"), directory],
            cwd=directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            # A group of its own, which its functions join.
            start_new_session=True,
        )


def _is_ready(emulator: Emulator, process: "subprocess.Popen[bytes]") -> bool:
    if process.poll() is not None:
        raise AssertionError(f"the emulator ended with {process.returncode}:\n{log_tail()}")
    if not emulator.authority_path.exists():
        return False
    try:
        with urllib.request.urlopen(f"{emulator.url}/_ministack/health", context=emulator.trust(), timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, ssl.SSLError, ConnectionError):
        return False


def _stop(process: "subprocess.Popen[bytes]") -> None:
    # The emulator has nothing to save, and its functions would outlive a polite end.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()
