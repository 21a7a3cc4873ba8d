"""Permissions: which keys a function may read, write, delete and list, as patterns over the layout of the bucket."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3

from infra import names

MEMORIES: Final = tuple(f"{names.MEMORY_PREFIX}*/{kind}/*{names.OBJECT_SUFFIX}" for kind in names.KIND_FOLDERS)
TOMBSTONES: Final = (f"{names.MEMORY_PREFIX}*/{names.TOMBSTONE_FOLDER}/*{names.OBJECT_SUFFIX}",)
CLAIMS: Final = (f"{names.MEMORY_PREFIX}*/{names.CLAIM_FOLDER}/*",)
CONSOLIDATIONS: Final = (f"{names.MEMORY_PREFIX}*/{names.CONSOLIDATION_FOLDER}/*{names.OBJECT_SUFFIX}",)
HISTORY: Final = (f"{names.MEMORY_PREFIX}*/{names.HISTORY_FOLDER}/*",)
HEADS: Final = (f"{names.MEMORY_PREFIX}*/{names.HEAD_NAME}",)
LOG_ENTRIES: Final = (f"{names.MEMORY_PREFIX}*/{names.LOG_FOLDER}/*",)
VECTORS: Final = (f"{names.MEMORY_PREFIX}*/{names.VECTOR_FOLDER}/*",)
INDEX: Final = (f"{names.MEMORY_PREFIX}*/{names.INDEX_FOLDER}/*",)
# What a fold or a merge leaves behind. The manifest itself is only ever replaced.
INDEX_LEFTOVERS: Final = tuple(
    f"{names.MEMORY_PREFIX}*/{folder}/*" for folder in (names.LOG_FOLDER, names.SEGMENT_FOLDER, names.VECTOR_FOLDER)
)
WINDOWS: Final = (f"{names.SESSION_PREFIX}*/{names.WINDOW_FOLDER}/*{names.OBJECT_SUFFIX}",)
BATCHES: Final = (f"{names.SESSION_PREFIX}*/{names.BATCH_FOLDER}/*{names.OBJECT_SUFFIX}",)
ATTRIBUTIONS: Final = (f"{names.SESSION_PREFIX}*/{names.ATTRIBUTION_NAME}",)
ALL_SESSIONS: Final = (f"{names.SESSION_PREFIX}*",)
MARKERS: Final = (f"{names.NAMESPACE_MARKER_PREFIX}*",)
TOKENS: Final = (f"{names.TOKEN_PREFIX}*",)
ALL_MEMORY: Final = (f"{names.MEMORY_PREFIX}*",)
# What an erasure empties: whatever lies among memories, and what lies beside them.
CONTENTS: Final = tuple(f"{names.MEMORY_PREFIX}*/{kind}/*" for kind in names.KIND_FOLDERS)
LEFTOVERS: Final = tuple(f"{names.MEMORY_PREFIX}*/{folder}/*" for folder in names.LEFTOVER_FOLDERS)
ERASURES: Final = (f"{names.ERASURE_PREFIX}*",)
OPEN_ERASURES: Final = (f"{names.ERASURE_PREFIX}*{names.OPEN_SUFFIX}",)

# Every writer of these sends a condition with each write, so one that does not has a fault, or is a person who forgot.
CONDITIONAL_ONLY: Final = (*MEMORIES, *TOMBSTONES, *CLAIMS, *HEADS, *TOKENS, *WINDOWS, *BATCHES)


def cursor_of(round_name: str) -> tuple[str, ...]:
    """Return the key under which a scheduled round keeps where it goes on."""
    return (f"{names.ROUND_PREFIX}{round_name}",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What a function may do with objects; every entry is a pattern of keys in which ``*`` matches anything.

    Attributes:
        read: keys it may read. S3 answers 404 for a missing one only to those who may list the bucket.
        write: keys it may write.
        delete: keys it may delete.
        purge: keys of which it may delete earlier versions and delete markers, for good.
        read_versions: keys of which it may read earlier versions.
        list: prefixes it may list.
    """

    read: tuple[str, ...]
    write: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()
    purge: tuple[str, ...] = ()
    read_versions: tuple[str, ...] = ()
    list: tuple[str, ...] = ()

    def statements(self, bucket: s3.IBucket) -> Iterator[iam.PolicyStatement]:
        """Yield the policy statements that allow this and nothing else."""
        for sid, action, patterns in (
            ("ReadObjects", "s3:GetObject", self.read),
            ("WriteObjects", "s3:PutObject", self.write),
            ("DeleteObjects", "s3:DeleteObject", self.delete),
            ("PurgeVersions", "s3:DeleteObjectVersion", self.purge),
            ("ReadVersions", "s3:GetObjectVersion", self.read_versions),
        ):
            if patterns:
                resources = [bucket.arn_for_objects(pattern) for pattern in patterns]
                yield iam.PolicyStatement(sid=sid, actions=[action], resources=resources)
        # A read of a missing key is checked against this too, without a prefix in the request; and if it were refused,
        # S3 would answer 403 instead of 404. Hence "if exists".
        yield iam.PolicyStatement(
            sid="ListObjects",
            actions=["s3:ListBucket"],
            resources=[bucket.bucket_arn],
            conditions={"StringLikeIfExists": {"s3:prefix": list(self.list)}},
        )
        if self.purge:
            # They are listed within such a folder, or below what the keys of one deletion have in common.
            yield iam.PolicyStatement(
                sid="ListVersions",
                actions=["s3:ListBucketVersions"],
                resources=[bucket.bucket_arn],
                conditions={"StringLike": {"s3:prefix": _folders_of(self.purge)}},
            )


def _folders_of(patterns: Iterable[str]) -> list[str]:
    """Return patterns of everything in the folders that patterns of keys name; of the system's, in the whole of them.

    Example:
        >>> _folders_of(["memory/*/_index/log/*", "memory/*/_index/vectors/*", "memory/*/semantic/*"])
        ['memory/*/_index/*', 'memory/*/semantic/*']
    """
    parts = [pattern.partition("/_") for pattern in patterns]
    folders = [
        f"{head}{mark}{rest.partition('/')[0]}" if mark else head.rpartition("/")[0] for head, mark, rest in parts
    ]
    return list(dict.fromkeys(f"{folder}/*" for folder in folders))
