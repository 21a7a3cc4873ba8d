"""An erasure through the deployed API, in a bucket that keeps versions."""

from collections.abc import Iterator

from tests.e2e.account import Bucket
from tests.e2e.api import Caller, NewCaller
from tests.e2e.waiting import wait_for

_NAMESPACE = "erasing/alice"
_SECRET = "under the third flowerpot"
_ERASE_SECONDS = 120


def holders(bucket: Bucket) -> Iterator[str]:
    """Yield the keys of all versions below the namespace that hold the text."""
    for prefix in (f"memory/{_NAMESPACE}/", f"sessions/{_NAMESPACE}/"):
        for page in bucket.client.get_paginator("list_object_versions").paginate(Bucket=bucket.name, Prefix=prefix):
            for row in page.get("Versions", ()):
                found = bucket.client.get_object(Bucket=bucket.name, Key=row["Key"], VersionId=row["VersionId"])
                if _SECRET.encode() in found["Body"].read():
                    yield row["Key"]


def test_an_erased_namespace_is_in_no_version_of_any_object(new_caller: NewCaller, bucket: Bucket) -> None:
    caller = new_caller(_NAMESPACE, *(item for name in ("read", "write", "erase") for item in ("--permission", name)))
    memory_id = caller.remember(f"The key lies {_SECRET}")
    caller.ask("PATCH", f"/v1/memories/{memory_id}", {"content": f"The spare key lies {_SECRET}"})
    forgotten = caller.remember(f"The old key lay {_SECRET}")
    caller.ask("DELETE", f"/v1/memories/{forgotten}")
    said = {
        "attribution": {"agent_client_id": "chef", "session_id": "talk"},
        "role": "user",
        "content": f"Look {_SECRET}",
    }
    caller.ask("POST", "/v1/write", said)
    assert len(list(holders(bucket))) >= 4

    report = wait_for(lambda: finished(caller), what="the end of the erasure", seconds=_ERASE_SECONDS)

    assert list(holders(bucket)) == []
    assert caller.ask("GET", "/v1/memories")["memories"] == []
    assert caller.ask("GET", f"/v1/erasures/{report['id']}") == report


def finished(caller: Caller) -> dict[str, object] | None:
    """Ask for the erasure, or go on with it; return its report once it is finished."""
    report: dict[str, object] = caller.ask("POST", "/v1/erasures", {"confirm": _NAMESPACE, "everything": True})
    return report if report["is_finished"] else None
