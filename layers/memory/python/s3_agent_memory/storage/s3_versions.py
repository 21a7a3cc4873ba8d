"""Earlier versions in a versioned bucket: deleting objects for good, delete markers included.

A plain deletion in a versioned bucket hides an object behind a delete marker. For memories that is a safety net. For
files of the index it is litter: every listing of a log has to pass over the markers of all entries that ever were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from s3_agent_memory.domain.clock import to_us
from s3_agent_memory.storage.versions import ObjectVersion, VersionMarker, VersionPage

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import ListObjectVersionsRequestTypeDef, ObjectIdentifierTypeDef

PAGE_COUNT_MAX: Final = 1_000
_DELETE_COUNT_MAX: Final = 1_000


def purge_keys(client: S3Client, bucket: str, keys: Sequence[str]) -> int:
    """Delete every version and delete marker of some keys (as the bucket has them); return how many that were.

    Raises:
        ClientError: the bucket does not list versions, or the caller may not see or delete them.
    """
    wanted = frozenset(keys)
    purged = 0
    first_key, last_key = min(wanted, default=""), max(wanted, default="")
    # What the first and the last one have in common, all between them have.
    prefix = "".join(a for a, b in takewhile(lambda pair: pair[0] == pair[1], zip(first_key, last_key, strict=False)))
    for page in _version_pages(client, bucket, prefix, last_key):
        versions = [item for item in page if item["Key"] in wanted]
        for start in range(0, len(versions), _DELETE_COUNT_MAX):
            part = versions[start : start + _DELETE_COUNT_MAX]
            client.delete_objects(Bucket=bucket, Delete={"Objects": part, "Quiet": True})
            purged += len(part)
    return purged


def _version_pages(
    client: S3Client, bucket: str, prefix: str, last_key: str
) -> Iterator[list[ObjectIdentifierTypeDef]]:
    """Yield key and version of everything below a prefix, page by page, until ``last_key`` is passed."""
    request: ListObjectVersionsRequestTypeDef = {"Bucket": bucket, "Prefix": prefix}
    for _ in range(PAGE_COUNT_MAX):
        answer = client.list_object_versions(**request)
        found: list[ObjectIdentifierTypeDef] = [
            {"Key": row["Key"], "VersionId": row["VersionId"]}
            for row in (*answer.get("Versions", ()), *answer.get("DeleteMarkers", ()))
        ]
        yield found
        if not answer.get("IsTruncated") or answer["NextKeyMarker"] > last_key:
            return
        request["KeyMarker"], request["VersionIdMarker"] = answer["NextKeyMarker"], answer["NextVersionIdMarker"]


def list_page_of_versions(
    client: S3Client, bucket: str, prefix: str, *, root: str, marker: VersionMarker | None
) -> VersionPage:
    """Return one page of versions and delete markers, by key.

    Args:
        prefix: of keys as the store names them.
        root: what the bucket puts in front of every key.

    Raises:
        ClientError: the bucket does not list versions, or the caller may not see them.
    """
    request: ListObjectVersionsRequestTypeDef = {"Bucket": bucket, "Prefix": root + prefix}
    if marker is not None:
        request["KeyMarker"] = root + marker.key
        if marker.version_id is not None:
            request["VersionIdMarker"] = marker.version_id
    answer = client.list_object_versions(**request)
    found = [
        *(_version_of(row, root, row["Size"]) for row in answer.get("Versions", ())),
        *(_version_of(row, root, None) for row in answer.get("DeleteMarkers", ())),
    ]
    following = None
    if answer.get("IsTruncated"):
        following = VersionMarker(answer["NextKeyMarker"].removeprefix(root), answer.get("NextVersionIdMarker"))
    return VersionPage(tuple(sorted(found, key=attrgetter("key"))), following)


def _version_of(row: Any, root: str, size_bytes: int | None) -> ObjectVersion:
    return ObjectVersion(
        key=row["Key"].removeprefix(root),
        version_id=row["VersionId"],
        is_latest=bool(row["IsLatest"]),
        is_delete_marker=size_bytes is None,
        size_bytes=size_bytes or 0,
        modified_ms=to_us(row["LastModified"]) // 1_000,
    )


def delete_listed_versions(
    client: S3Client, bucket: str, versions: Sequence[ObjectVersion], *, root: str
) -> list[ObjectVersion]:
    """Delete versions and delete markers, and return those that stay.

    Raises:
        ClientError: a whole request was refused.
    """
    staying: list[ObjectVersion] = []
    for start in range(0, len(versions), _DELETE_COUNT_MAX):
        part = {(root + item.key, item.version_id): item for item in versions[start : start + _DELETE_COUNT_MAX]}
        wanted: list[ObjectIdentifierTypeDef] = [{"Key": key, "VersionId": version_id} for key, version_id in part]
        answer = client.delete_objects(Bucket=bucket, Delete={"Objects": wanted, "Quiet": True})
        refused = [(row.get("Key", ""), row.get("VersionId", "")) for row in answer.get("Errors", ())]
        staying += [part[name] for name in refused if name in part]
    return staying
