"""Erasing on a real S3 server that keeps versions: no version of any object holds the text afterwards."""

from collections.abc import Iterator

import boto3
import pytest

from s3_agent_memory.bootstrap import Parts, Settings
from s3_agent_memory.domain.keys import parse_namespace
from s3_agent_memory.domain.memory import Attribution
from s3_agent_memory.domain.scopes import Contributor
from s3_agent_memory.domain.session_keys import session_of
from s3_agent_memory.domain.tiers import TierSettings
from s3_agent_memory.service.conversations.parts import ConversationParts
from tests.fakes.embedder import FakeEmbedder

NAMESPACE = "users/alice"
BUCKET = "versions"
ALICE, BOB = Attribution(user_id="alice"), Attribution(user_id="bob")


class Bucket:
    """A bucket with versioning, looked into from outside."""

    def __init__(self, endpoint_url: str) -> None:
        self._client = boto3.client("s3", endpoint_url=endpoint_url)
        self._client.create_bucket(Bucket=BUCKET)
        self._client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        self._endpoint_url = endpoint_url

    def open(self) -> Parts:
        return Parts(
            Settings(url=f"s3://{BUCKET}/root", endpoint_url=self._endpoint_url), embedder=FakeEmbedder("fake/1")
        )

    def versions(self) -> Iterator[tuple[str, bytes | None]]:
        """Yield key and body of every version of every object, None for a delete marker."""
        for page in self._client.get_paginator("list_object_versions").paginate(Bucket=BUCKET):
            for row in page.get("Versions", ()):
                found = self._client.get_object(Bucket=BUCKET, Key=row["Key"], VersionId=row["VersionId"])
                yield row["Key"], found["Body"].read()
            yield from ((marker["Key"], None) for marker in page.get("DeleteMarkers", ()))

    def holding(self, text: str) -> list[str]:
        return [key for key, body in self.versions() if body is not None and text.encode() in body]

    def hidden(self) -> list[str]:
        """Return the keys of delete markers."""
        return [key for key, body in self.versions() if body is None]


@pytest.fixture
def bucket(s3_endpoint_url: str) -> Iterator[Bucket]:
    made = Bucket(s3_endpoint_url)
    yield made
    client = made._client
    for page in client.get_paginator("list_object_versions").paginate(Bucket=BUCKET):
        rows = [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]
        for row in rows:
            client.delete_object(Bucket=BUCKET, Key=row["Key"], VersionId=row["VersionId"])
    client.delete_bucket(Bucket=BUCKET)


def live(parts: Parts) -> None:
    """Let two users remember, change, forget and talk."""
    remember = parts.memories.remember
    for user, attribution in (("alice", ALICE), ("bob", BOB)):
        for number in range(3):
            memory = remember(NAMESPACE, f"{user}secret {number}", attribution=attribution)
            parts.memories.update(NAMESPACE, memory.id, content=f"{user}secret {number} changed")
        remember(NAMESPACE, f"{user}secret forgotten", id=f"{user}-own", attribution=attribution)
        parts.memories.forget(NAMESPACE, f"{user}-own")
        remember(NAMESPACE, f"{user}secret again", id=f"{user}-own", attribution=attribution, resurrect=True)
    conversations = ConversationParts.assemble(
        parts.runtime, parts.memories, parts.services, settings=TierSettings(token_budget=64)
    )
    place = parse_namespace(NAMESPACE)
    for user in ("alice", "bob"):
        said = [("user", f"{user}secret turn {number}") for number in range(12)]
        conversations.service.write(place, "s1", said, contributor=Contributor(principal=user))
        conversations.worker.run([session_of(place, "s1")], lambda: 300_000)
    parts.memories.sweep(NAMESPACE)


def test_an_erased_user_is_in_no_version_and_others_keep_theirs(bucket: Bucket) -> None:
    parts = bucket.open()
    live(parts)
    assert len(bucket.holding("alicesecret")) > 4
    report = parts.memories.erase(NAMESPACE, confirm=NAMESPACE, user_id="alice")
    assert report.is_finished
    assert bucket.holding("alicesecret") == []
    assert (report.counts.versions > 0, report.counts.kept_versions) == (True, 0)
    contents = {hit.memory.content for hit in bucket.open().memories.recall(NAMESPACE, "bobsecret", limit=100)}
    assert {f"bobsecret {number} changed" for number in range(3)} | {"bobsecret again"} <= contents
    # What Bob forgot is still behind its marker, as the bucket's rules want it.
    assert any("bobsecret forgotten" in (body or b"").decode(errors="replace") for _, body in bucket.versions())


def test_an_erased_namespace_is_in_no_version(bucket: Bucket) -> None:
    parts = bucket.open()
    live(parts)
    report = parts.memories.erase(NAMESPACE, confirm=NAMESPACE)
    assert report.is_finished
    assert bucket.holding("secret") == []
    left = {key.split("/")[4] for key, _ in bucket.versions() if key.startswith(f"root/memory/{NAMESPACE}/")}
    assert left <= {"_tombstones", "_ids", "_index"}
    assert not [key for key in bucket.hidden() if "/_index/" not in key and "_erasures" not in key]


def test_erased_ids_are_in_no_version(bucket: Bucket) -> None:
    parts = bucket.open()
    live(parts)
    parts.memories.erase(NAMESPACE, confirm=NAMESPACE, ids=["alice-own"])
    assert not [key for key in bucket.holding("alicesecret") if "alice-own" in key]
    assert bucket.holding("alicesecret")


def test_what_a_first_process_left_is_in_no_version_after_a_second(bucket: Bucket) -> None:
    parts = bucket.open()
    live(parts)
    for _ in range(100):
        if bucket.open().memories.erase(NAMESPACE, confirm=NAMESPACE, seconds_max=0.05).is_finished:
            break
    assert bucket.holding("secret") == []
