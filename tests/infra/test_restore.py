"""What the deployment guide says of a memory that was deleted: its old version brings it back, by an import."""

from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws

from s3_agent_memory import MemoryStore
from s3_agent_memory.errors import NotFoundError

BUCKET = "versioned"


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """A bucket as the stack makes it."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        client = boto3.client("s3")
        client.create_bucket(Bucket=BUCKET)
        client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        yield client


def test_an_old_version_comes_back_by_an_import(client) -> None:
    store = MemoryStore.from_url(f"s3://{BUCKET}")
    memory = store.remember("users/alice", "Alice is vegetarian", tags=["food"])
    store.forget("users/alice", memory.id)
    (old,) = client.list_object_versions(Bucket=BUCKET, Prefix=memory.key)["Versions"]
    body = client.get_object(Bucket=BUCKET, Key=memory.key, VersionId=old["VersionId"])["Body"].read()
    report = store.import_("users/alice", [body], resurrect=True)
    assert report.imported == 1
    assert store.get("users/alice", memory.id).content == "Alice is vegetarian"
    assert [hit.memory.id for hit in store.recall("users/alice", "vegetarian")] == [memory.id]


def test_to_remove_the_delete_marker_alone_brings_nothing_back(client) -> None:
    store = MemoryStore.from_url(f"s3://{BUCKET}")
    memory = store.remember("users/alice", "Alice is vegetarian")
    store.forget("users/alice", memory.id)
    (marker,) = client.list_object_versions(Bucket=BUCKET, Prefix=memory.key)["DeleteMarkers"]
    client.delete_object(Bucket=BUCKET, Key=memory.key, VersionId=marker["VersionId"])
    with pytest.raises(NotFoundError):
        store.get("users/alice", memory.id)
