"""The emulated account as its operator sees it: AWS clients, and the parts of the deployed stack behind the API."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import boto3
from botocore.exceptions import ClientError

from tests.e2e.emulator import REGION, Emulator

_USER_NAME = "operator"
_EVENT_COUNT_MAX = 60
# A root user is above every policy, so the suite works as an administrator, whom the bucket policy binds.
_ADMINISTRATOR = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}


class Account:
    """AWS clients of the emulated account, with the rights of an administrator."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._keys = {"access_key_id": "test", "secret_access_key": "test"}
        iam = self.client("iam")
        iam.create_user(UserName=_USER_NAME)
        iam.put_user_policy(UserName=_USER_NAME, PolicyName="all", PolicyDocument=json.dumps(_ADMINISTRATOR))
        key = iam.create_access_key(UserName=_USER_NAME)["AccessKey"]
        self._keys = {"access_key_id": key["AccessKeyId"], "secret_access_key": key["SecretAccessKey"]}

    def client(self, service: str) -> Any:
        """Return a client of an AWS service."""
        return boto3.client(  # type: ignore[call-overload]  # The name is no literal.
            service,
            endpoint_url=self._emulator.url,
            region_name=REGION,
            aws_access_key_id=self._keys["access_key_id"],
            aws_secret_access_key=self._keys["secret_access_key"],
            verify=str(self._emulator.authority_path),
        )

    def environment(self) -> dict[str, str]:
        """Return the environment of a program that the operator starts."""
        return self._emulator.environment(**self._keys)

    def function_logs(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the latest lines of each log group of a function."""
        logs = self.client("logs")
        for group in logs.describe_log_groups()["logGroups"]:
            events = logs.filter_log_events(logGroupName=group["logGroupName"])["events"]
            yield group["logGroupName"], "\n".join(event["message"] for event in events[-_EVENT_COUNT_MAX:])


@dataclass(frozen=True)
class Bucket:
    """The bucket of the deployed stack, past the API."""

    account: Account
    name: str

    @cached_property
    def client(self) -> Any:
        """The S3 client of the operator."""
        return self.account.client("s3")

    def keys(self, prefix: str) -> list[str]:
        """Return all keys below a prefix."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        return [item["Key"] for page in pages for item in page.get("Contents", [])]

    def read(self, key: str) -> bytes:
        """Return the body of an object."""
        body: bytes = self.client.get_object(Bucket=self.name, Key=key)["Body"].read()
        return body

    def create(self, key: str, body: bytes) -> None:
        """Put an object that does not exist yet."""
        self.client.put_object(Bucket=self.name, Key=key, Body=body, IfNoneMatch="*")

    def refusal_of_put(self, key: str, **precondition: str) -> str | None:
        """Try to put an object; return the error code of the refusal, None if there was none."""
        try:
            self.client.put_object(Bucket=self.name, Key=key, Body=b"{}", **precondition)
        except ClientError as error:
            return error.response["Error"]["Code"]
        return None

    def notifications(self) -> dict[str, Any]:
        """Return the configuration of notifications."""
        found: dict[str, Any] = self.client.get_bucket_notification_configuration(Bucket=self.name)
        found.pop("ResponseMetadata")
        return found

    def set_notifications(self, configuration: dict[str, Any]) -> None:
        """Replace the configuration of notifications; an empty one ends them."""
        self.client.put_bucket_notification_configuration(Bucket=self.name, NotificationConfiguration=configuration)
