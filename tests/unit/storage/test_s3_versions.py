"""What the index deletes leaves nothing behind in a versioned bucket; deleted memories stay behind their markers."""

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from s3_agent_memory.storage.s3 import S3ObjectStore
from s3_agent_memory.storage.versions import VersionMarker

BUCKET = "agents"
_FORBIDDEN = ClientError(
    {
        "Error": {"Code": "AccessDenied"},
        "ResponseMetadata": {
            "HTTPStatusCode": 403,
            "HTTPHeaders": {},
            "HostId": "",
            "RequestId": "",
            "RetryAttempts": 0,
        },
    },
    "x",
)


@pytest.fixture
def bucket(monkeypatch):
    for name, value in {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}.items():
        monkeypatch.setenv(name, value)
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket=BUCKET)
        client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        yield client


def versions(client):
    answer = client.list_object_versions(Bucket=BUCKET)
    return [row["Key"] for row in (*answer.get("Versions", ()), *answer.get("DeleteMarkers", ()))]


def open_store():
    return S3ObjectStore(BUCKET, "root", region="us-east-1")


def test_deleted_index_files_leave_neither_version_nor_marker(bucket):
    store = open_store()
    for number in range(25):
        store.put(f"log/{number:03}", b"x")
    store.delete_many([f"log/{number:03}" for number in range(20)])
    assert sorted(versions(bucket)) == [f"root/log/{number:03}" for number in range(20, 25)]


def test_a_deleted_memory_stays_behind_its_marker(bucket):
    store = open_store()
    store.put("a.json", b"x")
    store.delete("a.json")
    assert versions(bucket) == ["root/a.json", "root/a.json"]


def test_overwritten_versions_go_as_well(bucket):
    store = open_store()
    for body in (b"1", b"2", b"3"):
        store.put("log/a", body)
    store.delete_many(["log/a"])
    assert versions(bucket) == []


def test_without_the_right_to_see_versions_the_objects_are_deleted_nevertheless(bucket, monkeypatch):
    def refuse(*_, **__):
        raise ClientError({"Error": {"Code": "AccessDenied"}}, "ListObjectVersions")

    store = open_store()
    monkeypatch.setattr(store._reader, "list_object_versions", refuse)
    store.put("log/a", b"x")
    store.delete_many(["log/a"])
    assert store.list_page("log/").objects == ()


def test_versions_are_listed_read_and_deleted(bucket):
    store = open_store()
    for body in (b"1", b"2"):
        store.put("a/x.json", body)
    store.delete("a/x.json")
    found = store.list_versions("a/").versions
    assert sorted((item.is_delete_marker, item.is_latest) for item in found) == [
        (False, False),
        (False, False),
        (True, True),
    ]
    bodies = [store.get_version(item.key, item.version_id, size_max=9) for item in found if not item.is_delete_marker]
    assert sorted(item.body for item in bodies) == [b"1", b"2"]
    assert store.delete_versions(found) == []
    assert versions(bucket) == []


def test_a_page_of_versions_goes_on_behind_a_key(bucket):
    store = open_store()
    for key in ("a", "b", "c"):
        store.put(key, b"x")
    assert [item.key for item in store.list_versions("", marker=VersionMarker("a")).versions] == ["b", "c"]


def test_versions_that_are_refused_together_are_deleted_one_by_one(bucket, monkeypatch):
    def refuse(*_, **__):
        raise _FORBIDDEN

    store = open_store()
    for key in ("a", "b"):
        store.put(key, b"x")
    monkeypatch.setattr(store._reader, "delete_objects", refuse)
    assert store.delete_versions(store.list_versions("").versions) == []
    assert versions(bucket) == []


def test_versions_that_stay_are_said_to(bucket, monkeypatch):
    def refuse(*_, **__):
        raise _FORBIDDEN

    store = open_store()
    store.put("a", b"x")
    for name in ("delete_objects", "delete_object"):
        monkeypatch.setattr(store._reader, name, refuse)
    found = list(store.list_versions("").versions)
    assert store.delete_versions(found) == found
