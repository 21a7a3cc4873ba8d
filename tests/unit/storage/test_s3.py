"""What the S3 adapter makes of every kind of answer, and of none; and what it sends."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from s3_agent_memory.errors import (
    AccessDeniedError,
    AgentMemoryError,
    BackendError,
    PreconditionFailedError,
    ThrottledError,
    UnknownOutcomeError,
    ValidationError,
)
from s3_agent_memory.storage import s3
from s3_agent_memory.storage.port import Get, StoredObject
from s3_agent_memory.storage.s3 import S3ObjectStore
from tests.unit.storage.scripted_s3 import Answer, Script, running_scripted_s3

ETAG = '"scripted"'
REGION = "us-east-1"

Write = Callable[[S3ObjectStore], object]


def put(store: S3ObjectStore) -> object:
    return store.put("key", b"body")


def create(store: S3ObjectStore) -> object:
    return store.put("key", b"body", if_absent=True)


def replace(store: S3ObjectStore) -> object:
    return store.put("key", b"body", if_match=ETAG)


def delete(store: S3ObjectStore) -> None:
    store.delete("key")


def delete_matching(store: S3ObjectStore) -> None:
    store.delete("key", if_match=ETAG)


WRITES = (put, create, replace, delete, delete_matching)
every_write = pytest.mark.parametrize("write", WRITES)


@pytest.fixture(autouse=True, scope="module")
def _credentials() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        yield


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the SDK try again at once."""
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)


@pytest.fixture(scope="module")
def running_script() -> Iterator[Script]:
    with running_scripted_s3() as running:
        yield running


@pytest.fixture
def script(running_script: Script) -> Script:
    running_script.requests.clear()
    return running_script


@pytest.fixture(scope="module")
def store(running_script: Script, _credentials: None) -> S3ObjectStore:
    """Made once, for the SDK takes longer to start than a test."""
    return S3ObjectStore("bucket", "prefix", endpoint_url=running_script.endpoint_url, region=REGION)


# Answers to writes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (412, "PreconditionFailed", PreconditionFailedError),
        (429, "TooManyRequests", ThrottledError),
        (503, "SlowDown", ThrottledError),
        (403, "AccessDenied", AccessDeniedError),
        (400, "ExpiredToken", AccessDeniedError),
        (404, "NoSuchBucket", BackendError),
        (400, "KeyTooLongError", BackendError),
        (500, "InternalError", UnknownOutcomeError),
        (502, "", UnknownOutcomeError),
        (503, "ServiceUnavailable", UnknownOutcomeError),
        (504, "", UnknownOutcomeError),
    ],
)
@every_write
def test_an_answer_to_a_write_says_what_the_caller_may_do(
    store: S3ObjectStore, script: Script, write: Write, *, status: int, code: str, expected: type[AgentMemoryError]
) -> None:
    script.answers = [Answer(status=status, code=code)]
    with pytest.raises(AgentMemoryError) as caught:
        write(store)
    assert type(caught.value) is expected


@pytest.mark.parametrize(("status", "code"), [(409, "ConditionalRequestConflict"), (404, "NoSuchKey")])
@pytest.mark.parametrize("write", [replace, delete_matching])
def test_a_conditional_write_may_lose_in_more_than_one_way(
    store: S3ObjectStore, script: Script, write: Write, *, status: int, code: str
) -> None:
    script.answers = [Answer(status=status, code=code)]
    with pytest.raises(PreconditionFailedError):
        write(store)


def test_a_conflict_of_creators_is_a_lost_race(store: S3ObjectStore, script: Script) -> None:
    script.answers = [Answer(status=409, code="ConditionalRequestConflict")]
    with pytest.raises(PreconditionFailedError):
        create(store)


@pytest.mark.parametrize("write", [put, delete])
def test_a_conflict_without_a_condition_is_no_lost_race(store: S3ObjectStore, script: Script, write: Write) -> None:
    script.answers = [Answer(status=409, code="OperationAborted")]
    with pytest.raises(BackendError):
        write(store)


def test_a_delete_of_what_is_not_there_succeeds_though_the_server_complains(
    store: S3ObjectStore, script: Script
) -> None:
    script.answers = [Answer(status=404, code="NoSuchKey")]
    delete(store)
    assert len(script.requests) == 1


def test_a_missing_bucket_is_named(store: S3ObjectStore, script: Script) -> None:
    script.answers = [Answer(status=404, code="NoSuchBucket")]
    with pytest.raises(BackendError, match=r"s3://bucket/.*create the bucket"):
        store.get("key", size_max=10)


# No answer to writes -------------------------------------------------------------------------------------------------


@every_write
@pytest.mark.parametrize("answer", [Answer(is_dropped=True), Answer(status=500, code="InternalError")])
def test_a_write_is_sent_once(script: Script, write: Write, answer: Answer) -> None:
    script.answers = [answer]
    # The store of the other tests will not do: an SDK client that has seen many errors stops retrying.
    store = S3ObjectStore("bucket", endpoint_url=script.endpoint_url, region=REGION)
    with pytest.raises(UnknownOutcomeError):
        write(store)
    assert len(script.requests) == 1


@every_write
def test_a_write_without_an_answer_in_time_has_an_unknown_outcome(
    script: Script, monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    monkeypatch.setattr(s3, "READ_TIMEOUT_SECONDS", 0.1)
    script.answers = [Answer(is_held=True)]
    store = S3ObjectStore("bucket", endpoint_url=script.endpoint_url, region=REGION)
    with pytest.raises(UnknownOutcomeError):
        write(store)


@every_write
def test_a_write_that_never_left_had_no_effect(write: Write) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed_soon:
        port = closed_soon.getsockname()[1]
    store = S3ObjectStore("bucket", endpoint_url=f"http://127.0.0.1:{port}", region=REGION)
    with pytest.raises(BackendError) as caught:
        write(store)
    assert not isinstance(caught.value, UnknownOutcomeError)


# Reads ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [Answer(is_dropped=True), Answer(status=503, code="SlowDown"), Answer(status=500)])
def test_a_read_is_sent_again(store: S3ObjectStore, script: Script, answer: Answer) -> None:
    script.answers = [answer, Answer(body=b"body")]
    assert store.get("key", size_max=10) == StoredObject(b"body", ETAG)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer(status=503, code="SlowDown"), ThrottledError),
        (Answer(status=500, code="InternalError"), BackendError),
        (Answer(is_dropped=True), BackendError),
    ],
)
def test_a_read_is_given_up_after_four_requests(
    store: S3ObjectStore, script: Script, answer: Answer, expected: type[AgentMemoryError]
) -> None:
    script.answers = [answer]
    with pytest.raises(AgentMemoryError) as caught:
        store.get("key", size_max=10)
    assert (type(caught.value), len(script.requests)) == (expected, 4)


def test_a_body_that_breaks_off_is_an_error(store: S3ObjectStore, script: Script) -> None:
    script.answers = [Answer(body=b"bo", missing_bytes=2)]
    with pytest.raises(BackendError):
        store.get("key", size_max=10)


def test_a_listing_that_is_no_xml_is_an_error(store: S3ObjectStore, script: Script) -> None:
    script.answers = [Answer(body=b"<html>welcome to the hotel")]
    with pytest.raises(BackendError):
        store.list_page("")


def test_a_listing_goes_on_behind_an_empty_page(store: S3ObjectStore, script: Script) -> None:
    empty = b"<R><IsTruncated>true</IsTruncated><NextContinuationToken>more</NextContinuationToken></R>"
    row = (
        b"<R><IsTruncated>false</IsTruncated><Contents><Key>prefix/a</Key><Size>1</Size><ETag>e</ETag>"
        b"<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents></R>"
    )
    script.answers = [Answer(body=empty), Answer(body=row)]
    assert [found.key for found in store.list_page("").objects] == ["a"]
    assert "continuation-token=more" in script.requests[1].target


def test_a_listing_of_nothing_but_empty_pages_ends(store: S3ObjectStore, script: Script) -> None:
    script.answers = [
        Answer(body=b"<R><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken></R>")
    ]
    with pytest.raises(BackendError):
        store.list_page("")


def test_many_reads_have_all_ended_when_one_fails(store: S3ObjectStore, script: Script) -> None:
    script.answers = [Answer(status=403, code="AccessDenied")]
    with pytest.raises(AccessDeniedError):
        store.read_many([Get(f"key-{number}", 10) for number in range(40)])
    assert len(script.requests) == 40


# What is sent --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prefix", "target"),
    [("", "/bucket/a/b.json"), ("x", "/bucket/x/a/b.json"), ("/x/y/", "/bucket/x/y/a/b.json")],
)
def test_the_prefix_comes_before_the_key_with_one_slash_between(script: Script, prefix: str, target: str) -> None:
    script.answers = [Answer()]
    S3ObjectStore("bucket", prefix, endpoint_url=script.endpoint_url, region=REGION).put("a/b.json", b"")
    assert script.requests[0].target == target


@pytest.mark.parametrize(
    ("sse", "kms_key_id"),
    [(None, None), ("AES256", None), ("aws:kms", None), ("aws:kms", "my-key"), ("aws:kms:dsse", "my-key")],
)
def test_a_write_asks_for_the_encryption_chosen(script: Script, sse: str | None, kms_key_id: str | None) -> None:
    script.answers = [Answer()]
    S3ObjectStore("bucket", endpoint_url=script.endpoint_url, region=REGION, sse=sse, kms_key_id=kms_key_id).put(
        "key", b""
    )
    headers = script.requests[0].headers
    sent = headers.get("x-amz-server-side-encryption"), headers.get("x-amz-server-side-encryption-aws-kms-key-id")
    assert sent == (sse, kms_key_id)


@pytest.mark.parametrize(("sse", "kms_key_id"), [("rot13", None), (None, "my-key"), ("AES256", "my-key")])
def test_an_encryption_that_does_not_exist_is_refused(sse: str | None, kms_key_id: str | None) -> None:
    with pytest.raises(ValidationError):
        S3ObjectStore("bucket", region=REGION, sse=sse, kms_key_id=kms_key_id)


def test_json_objects_say_that_they_are_json(store: S3ObjectStore, script: Script) -> None:
    script.answers = [Answer()]
    store.put("a.json", b"{}")
    assert script.requests[0].headers["content-type"] == "application/json"


def test_a_body_is_sent_without_waiting_for_leave(store: S3ObjectStore, script: Script) -> None:
    script.answers = [Answer()]
    store.put("key", b"body")
    assert "expect" not in script.requests[0].headers


def test_a_bucket_name_that_cannot_be_is_refused(script: Script) -> None:
    store = S3ObjectStore("no bucket/name", endpoint_url=script.endpoint_url, region=REGION)
    with pytest.raises(ValidationError):
        put(store)


def test_missing_credentials_are_said_with_the_next_step(
    script: Script, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    store = S3ObjectStore("bucket", endpoint_url=script.endpoint_url, region=REGION)
    with pytest.raises(AccessDeniedError, match="aws configure"):
        put(store)
