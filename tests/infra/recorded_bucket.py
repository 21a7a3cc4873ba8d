"""A bucket with versions, and stores on it that record each request of the SDK as IAM sees it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os import environ
from typing import Any
from unittest.mock import patch

import boto3
from moto import mock_aws

from s3_agent_memory.storage.s3 import S3ObjectStore
from tests.infra.policies import BUCKET, Call

_NAME = "bucket"
_REGION = "us-east-1"
_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": _REGION}
_OBJECT_ACTIONS = {"GetObject": "s3:GetObject", "PutObject": "s3:PutObject", "DeleteObject": "s3:DeleteObject"}
_LIST_ACTIONS = {"ListObjectsV2": "s3:ListBucket", "ListObjectVersions": "s3:ListBucketVersions"}


@contextmanager
def versioned_bucket() -> Iterator[None]:
    """Make a bucket as the stack makes it, for as long as this lasts."""
    with patch.dict(environ, _CREDENTIALS), mock_aws():
        client = boto3.client("s3")
        client.create_bucket(Bucket=_NAME)
        client.put_bucket_versioning(Bucket=_NAME, VersioningConfiguration={"Status": "Enabled"})
        yield


class RecordedStore(S3ObjectStore):
    """The real adapter, one request after the other.

    Attributes:
        calls: what was asked for.
    """

    def __init__(self) -> None:
        super().__init__(_NAME)
        self.calls: list[Call] = []
        for client in (self._reader, self._writer):
            client.meta.events.register("provide-client-params.s3", self._record)

    def _record(self, params: dict[str, Any], model: Any, **_: object) -> None:
        self.calls += _calls_of(model.name, params)

    def _in_parallel(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return [function(item) for item in items]


def _calls_of(operation: str, params: dict[str, Any]) -> list[Call]:
    if operation in _LIST_ACTIONS:
        return [Call(_LIST_ACTIONS[operation], BUCKET, {"s3:prefix": params["Prefix"]})]
    context = {"aws:SecureTransport": "true", "s3:TlsVersion": "1.3"}
    if operation == "DeleteObjects":
        # Without a version this would be another action, which no part of the library asks for.
        assert all("VersionId" in item for item in params["Delete"]["Objects"])
        keys = {item["Key"] for item in params["Delete"]["Objects"]}
        return [Call("s3:DeleteObjectVersion", f"{BUCKET}/{key}", context) for key in sorted(keys)]
    if operation == "PutObject":
        context["s3:ObjectCreationOperation"] = "true"
        conditions = {"IfMatch": "s3:if-match", "IfNoneMatch": "s3:if-none-match"}
        context |= {key: params[name] for name, key in conditions.items() if name in params}
    version = "Version" if "VersionId" in params else ""
    return [Call(_OBJECT_ACTIONS[operation] + version, f"{BUCKET}/{params['Key']}", context)]
