"""Objects in an S3 bucket, or in anything that speaks S3 with conditional writes. The only module that knows boto3.

Reads and clean-ups are retried by the SDK; other writes never are, for a retry behind our back could lose against its
own first attempt.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    HTTPClientError,
    LoginError,
    NoAuthTokenError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    SSLError,
    SSOError,
    TokenRetrievalError,
)
from botocore.parsers import ResponseParserError

from s3_agent_memory.domain.clock import to_us
from s3_agent_memory.errors import (
    AccessDeniedError,
    AgentMemoryError,
    BackendError,
    PreconditionFailedError,
    ThrottledError,
    UnknownOutcomeError,
    ValidationError,
)
from s3_agent_memory.names import OBJECT_SUFFIX
from s3_agent_memory.storage.port import (
    UNCHANGED,
    Get,
    ListedObject,
    ObjectPage,
    Read,
    ReadResult,
    StoredObject,
    Unchanged,
)
from s3_agent_memory.storage.s3_versions import delete_listed_versions, list_page_of_versions, purge_keys
from s3_agent_memory.storage.versions import ObjectVersion, VersionMarker, VersionPage

if TYPE_CHECKING:
    from botocore.response import StreamingBody
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.literals import ServerSideEncryptionType
    from mypy_boto3_s3.type_defs import (
        DeleteObjectRequestTypeDef,
        GetObjectRequestTypeDef,
        ListObjectsV2RequestTypeDef,
        PutObjectRequestTypeDef,
    )

logger = logging.getLogger(__name__)

PAGE_SIZE: Final = 1_000
WORKER_COUNT: Final = 16
READ_ATTEMPT_COUNT_MAX: Final = 4
CONNECT_TIMEOUT_SECONDS: Final = 3
READ_TIMEOUT_SECONDS: Final = 10
_EMPTY_PAGE_COUNT_MAX: Final = 100
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_KMS = frozenset({"aws:kms", "aws:kms:dsse"})
_ENCRYPTIONS = frozenset({"AES256"}) | _KMS

# What servers without versions answer when they are asked for some.
_NO_VERSIONS_CODES = frozenset({"NotImplemented", "MethodNotAllowed"})
_EXPIRED_CODES = frozenset({"ExpiredToken", "InvalidToken", "TokenRefreshRequired"})
_CREDENTIAL_ERRORS = (
    NoCredentialsError,
    PartialCredentialsError,
    CredentialRetrievalError,
    TokenRetrievalError,
    NoAuthTokenError,
    SSOError,
    LoginError,
)
# After these the request may be on its way; any other failure means that it never left.
_SENT_ERRORS = (HTTPClientError, SSLError, ResponseParserError)


class S3ObjectStore:
    """An ``ObjectStore`` in ``bucket`` below ``prefix``; credentials come from the SDK's usual chain. Safe for threads.

    Every request is finished when a call returns, so nothing is in flight when a Lambda function is frozen.

    Args:
        prefix: put in front of every key, with one slash between; empty for the whole bucket.
        endpoint_url: another server than AWS; it is addressed as ``<endpoint>/<bucket>/<key>``.
        region: None leaves it to the SDK.
        sse: server-side encryption of what is written: ``AES256``, ``aws:kms``, ``aws:kms:dsse``, or None for the
            bucket's own default.
        kms_key_id: key for the two KMS modes; None means the account's default key.

    Raises:
        ValidationError: ``sse`` and ``kms_key_id`` do not fit.
    """

    def __init__(
        self,
        bucket: str,
        prefix: str = "",
        *,
        endpoint_url: str | None = None,
        region: str | None = None,
        sse: str | None = None,
        kms_key_id: str | None = None,
    ) -> None:
        if sse is not None and sse not in _ENCRYPTIONS:
            raise ValidationError(
                f"server-side encryption must be one of {', '.join(sorted(_ENCRYPTIONS))}, not {sse!r}"
            )
        if kms_key_id is not None and sse not in _KMS:
            raise ValidationError("a KMS key id needs the server-side encryption aws:kms or aws:kms:dsse")
        self._bucket = bucket
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._sse = sse
        self._kms_key_id = kms_key_id
        session = boto3.session.Session()
        self._reader = _client(session, endpoint_url, region, attempt_count_max=READ_ATTEMPT_COUNT_MAX)
        self._writer = _client(session, endpoint_url, region, attempt_count_max=1)
        self._lock = Lock()
        self._lazy_executor: ThreadPoolExecutor | None = None

    def get(self, key: str, *, size_max: int) -> StoredObject | None:
        """See ``ObjectStore``."""
        with self._errors_translated(key):
            return self._get({"Bucket": self._bucket, "Key": self._prefix + key}, size_max)

    def get_if_changed(self, key: str, etag: str, *, size_max: int) -> StoredObject | Unchanged | None:
        """See ``ObjectStore``."""
        with self._errors_translated(key):
            try:
                return self._get({"Bucket": self._bucket, "Key": self._prefix + key, "IfNoneMatch": etag}, size_max)
            except ClientError as error:
                if _status(error) == 304:
                    return UNCHANGED
                raise

    def _get(self, request: "GetObjectRequestTypeDef", size_max: int) -> StoredObject | None:
        try:
            answer = self._reader.get_object(**request)
        except ClientError as error:
            if _is_missing_object(error):
                return None
            raise
        body = _read_body(answer["Body"], size_max)
        return StoredObject(body[:size_max], answer["ETag"], is_truncated=len(body) > size_max)

    def list_page(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> ObjectPage:
        """See ``ObjectStore``; a page has at most 1,000 keys."""
        request: ListObjectsV2RequestTypeDef = {
            "Bucket": self._bucket,
            "Prefix": self._prefix + prefix,
            "MaxKeys": PAGE_SIZE if limit is None else min(limit, PAGE_SIZE),
        }
        if start_after:
            request["StartAfter"] = self._prefix + start_after
        for _ in range(_EMPTY_PAGE_COUNT_MAX):
            page, token = self._list(request, prefix)
            if page.objects or page.is_last:
                return page
            # In a bucket with versions a page may hold nothing but hidden delete markers.
            request["ContinuationToken"] = token
        raise BackendError(f"S3 listed nothing below {prefix!r} in {_EMPTY_PAGE_COUNT_MAX} pages, yet claims more")

    def _list(self, request: "ListObjectsV2RequestTypeDef", prefix: str) -> tuple[ObjectPage, str]:
        with self._errors_translated(prefix):
            answer = self._reader.list_objects_v2(**request)
        rows = tuple(
            ListedObject(
                row["Key"].removeprefix(self._prefix), row["ETag"], row["Size"], to_us(row["LastModified"]) // 1_000
            )
            for row in answer.get("Contents", ())
        )
        return ObjectPage(rows, is_last=not answer.get("IsTruncated", False)), answer.get("NextContinuationToken", "")

    def read_many(self, reads: Sequence[Read]) -> list[ReadResult]:
        """See ``ObjectStore``; up to 16 at a time."""
        return self._in_parallel(self._read, reads)

    def _read(self, read: Read) -> ReadResult:
        if not isinstance(read, Get):
            return self.list_page(read.prefix, start_after=read.start_after, limit=read.limit)
        if read.if_none_match is None:
            return self.get(read.key, size_max=read.size_max)
        return self.get_if_changed(read.key, read.if_none_match, size_max=read.size_max)

    def _in_parallel(self, function: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
        """Call the function for every item; all calls have ended when this returns or raises the first error."""
        if len(items) <= 1:
            return [function(item) for item in items]
        futures = [self._executor().submit(function, item) for item in items]
        wait(futures)
        return [future.result() for future in futures]

    def _executor(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._lazy_executor is None:
                self._lazy_executor = ThreadPoolExecutor(WORKER_COUNT, thread_name_prefix="s3-read")
            return self._lazy_executor

    def put(self, key: str, body: bytes, *, if_match: str | None = None, if_absent: bool = False) -> str:
        """See ``ObjectStore``."""
        request: PutObjectRequestTypeDef = {"Bucket": self._bucket, "Key": self._prefix + key, "Body": body}
        if key.endswith(OBJECT_SUFFIX):
            request["ContentType"] = "application/json"
        if if_match is not None:
            request["IfMatch"] = if_match
        if if_absent:
            request["IfNoneMatch"] = "*"
        if self._sse is not None:
            request["ServerSideEncryption"] = cast("ServerSideEncryptionType", self._sse)
        if self._kms_key_id is not None:
            request["SSEKMSKeyId"] = self._kms_key_id
        with self._errors_translated(key, is_write=True, is_conditional=if_absent or if_match is not None):
            return self._writer.put_object(**request)["ETag"]

    def delete(self, key: str, *, if_match: str | None = None) -> None:
        """See ``ObjectStore``."""
        self._delete(self._writer, key, if_match)

    def _delete(self, client: "S3Client", key: str, if_match: str | None = None) -> bool:
        """Delete an object; return True if the bucket keeps it behind a delete marker."""
        request: DeleteObjectRequestTypeDef = {"Bucket": self._bucket, "Key": self._prefix + key}
        if if_match is not None:
            request["IfMatch"] = if_match
        with self._errors_translated(key, is_write=True, is_conditional=if_match is not None):
            try:
                return bool(client.delete_object(**request).get("DeleteMarker", False))
            except ClientError as error:
                if if_match is not None or not _is_missing_object(error):
                    raise
                return False

    def delete_many(self, keys: Sequence[str]) -> None:
        """See ``ObjectStore``; up to 16 at a time. After an error the others have been tried nevertheless."""
        # Without a condition a deletion may be repeated. One of a thousand often fails, and then none would count.
        if any(self._in_parallel(partial(self._delete, self._reader), keys)):
            self._purge(keys)

    def _purge(self, keys: Sequence[str]) -> None:
        """Delete what deleted objects leave behind in a versioned bucket, where the caller may."""
        try:
            purge_keys(self._reader, self._bucket, [self._prefix + key for key in keys])
        except (BotoCoreError, ClientError) as error:
            # The objects are deleted, which is what was asked for; the bucket's own rules remove the rest in time.
            logger.info("earlier versions of deleted index files stay: %s", type(error).__name__)

    def list_versions(self, prefix: str, *, marker: VersionMarker | None = None) -> VersionPage | None:
        """See ``VersionedObjectStore``."""
        with self._errors_translated(prefix):
            try:
                return list_page_of_versions(self._reader, self._bucket, prefix, root=self._prefix, marker=marker)
            except ClientError as error:
                if _code(error) in _NO_VERSIONS_CODES:
                    return None
                raise

    def get_version(self, key: str, version_id: str, *, size_max: int) -> StoredObject | None:
        """See ``VersionedObjectStore``."""
        request: GetObjectRequestTypeDef = {"Bucket": self._bucket, "Key": self._prefix + key, "VersionId": version_id}
        with self._errors_translated(key):
            return self._get(request, size_max)

    def delete_versions(self, versions: Sequence[ObjectVersion]) -> list[ObjectVersion]:
        """See ``VersionedObjectStore``; deleting a version again does no harm, so the SDK may repeat it."""
        with self._errors_translated("", is_write=True):
            try:
                return delete_listed_versions(self._reader, self._bucket, versions, root=self._prefix)
            except ClientError as error:
                if _status(error) != 403:
                    raise
        # Some servers refuse all of them because of one; asked for one by one, the others go.
        is_gone = self._in_parallel(self._delete_version, versions)
        return [item for item, gone in zip(versions, is_gone, strict=True) if not gone]

    def _delete_version(self, version: ObjectVersion) -> bool:
        """Delete one version; return False if that is not allowed."""
        with self._errors_translated(version.key, is_write=True):
            try:
                self._reader.delete_object(
                    Bucket=self._bucket, Key=self._prefix + version.key, VersionId=version.version_id
                )
            except ClientError as error:
                if _status(error) != 403:
                    raise
                return False
            return True

    @contextmanager
    def _errors_translated(self, key: str, *, is_write: bool = False, is_conditional: bool = False) -> Iterator[None]:
        where = f"s3://{self._bucket}/{self._prefix}{key}"
        try:
            yield
        except ClientError as error:
            raise _answered(error, where, is_write=is_write, is_conditional=is_conditional) from error
        except (BotoCoreError, ResponseParserError) as error:
            raise _unanswered(error, where, is_write=is_write) from error


def _client(
    session: boto3.session.Session, endpoint_url: str | None, region: str | None, *, attempt_count_max: int
) -> "S3Client":
    is_aws = endpoint_url is None
    config = Config(
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        read_timeout=READ_TIMEOUT_SECONDS,
        max_pool_connections=WORKER_COUNT,
        retries={"mode": "standard", "total_max_attempts": attempt_count_max},
        s3={"addressing_style": "auto" if is_aws else "path"},
        # Other servers often know neither the newer checksums nor the trailers they are sent in.
        request_checksum_calculation="when_supported" if is_aws else "when_required",
        response_checksum_validation="when_supported" if is_aws else "when_required",
    )
    client = session.client("s3", endpoint_url=endpoint_url, region_name=region, config=config)
    client.meta.events.register_last("before-call.s3", _send_body_at_once)
    client.meta.events.register_last("before-parse.s3", _distrust_half_an_answer)
    return client


def _send_body_at_once(params: dict[str, Any], **_: object) -> None:
    """Drop ``Expect: 100-continue``: the bodies are small, and waiting for a go-ahead costs a round trip each."""
    params["headers"].pop("Expect", None)


def _distrust_half_an_answer(operation_model: Any, response_dict: dict[str, Any], **_: object) -> None:
    """Take a success whose head was cut for a failure; the HTTP client takes it for a whole answer, often without body.

    As a failure of the server it makes a read come again and leaves a write in doubt.
    """
    headers, status = response_dict["headers"], response_dict["status_code"]
    has_length = "content-length" in headers or "transfer-encoding" in headers
    has_etag = headers.get("etag", "").endswith('"')
    is_whole = {
        "GetObject": has_length and has_etag,
        "ListObjectsV2": bool(response_dict["body"]),
        "PutObject": has_etag,
    }
    if status == 200 and not is_whole.get(operation_model.name, True):
        response_dict.update(status_code=500, body=b"")


def _read_body(stream: "StreamingBody", size_max: int) -> bytes:
    """Return the body, or its first ``size_max + 1`` bytes if it is longer."""
    body = bytearray()
    with closing(stream):
        # Only the empty read at the end makes the SDK compare length and checksum. Each turn but the last adds bytes.
        while len(body) <= size_max and (chunk := stream.read(size_max + 1 - len(body))):
            body += chunk
    return bytes(body)


def _status(error: ClientError) -> int:
    return error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)


def _code(error: ClientError) -> str:
    return error.response.get("Error", {}).get("Code", "")


def _is_missing_object(error: ClientError) -> bool:
    return _status(error) == 404 and _code(error) != "NoSuchBucket"


def _answered(error: ClientError, where: str, *, is_write: bool, is_conditional: bool) -> AgentMemoryError:
    """Return the error that says what an answer of the server means for the caller."""
    status, code = _status(error), _code(error)
    what = f"S3 answered {status} {code} for {where}"
    if status == 412 or (is_conditional and (status == 409 or _is_missing_object(error))):
        return PreconditionFailedError(what)
    if code == "NoSuchBucket":
        return BackendError(f"{what}: create the bucket, or correct the address of the store")
    if status == 429 or code == "SlowDown" or "Throttl" in code:
        return ThrottledError(what)
    if status in {401, 403} or code in _EXPIRED_CODES:
        return AccessDeniedError(f"{what}: check the credentials and what their policy allows")
    if is_write and status >= 500:
        return UnknownOutcomeError(what)
    return BackendError(f"{what}: {error.response.get('Error', {}).get('Message', '')}")


def _unanswered(error: Exception, where: str, *, is_write: bool) -> AgentMemoryError:
    """Return the error that says what the lack of an answer means for the caller."""
    what = f"{type(error).__name__} at {where}"
    if isinstance(error, _CREDENTIAL_ERRORS):
        return AccessDeniedError(f"{what}: give AWS credentials, for example by `aws configure` or an IAM role")
    if isinstance(error, ParamValidationError):
        return ValidationError(f"{what}: the SDK refuses this bucket or key")
    if is_write and isinstance(error, _SENT_ERRORS):
        return UnknownOutcomeError(f"{what}: no answer to a write")
    return BackendError(f"{what}: {error}")
