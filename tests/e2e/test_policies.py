"""What the deployed policies refuse, even to an administrator."""

import pytest

from s3_agent_memory.domain.keys import claim_key, head_key, memory_key, parse_namespace, tombstone_key
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.names import TOKEN_PREFIX
from tests.e2e.account import Bucket

_NAMESPACE = parse_namespace("policies")
_ID = "0123456789abcdef01234567"
_MEMORY_KEY = memory_key(_NAMESPACE, Kind.SEMANTIC, _ID)
_GUARDED_KEYS = {
    "memory": _MEMORY_KEY,
    "tombstone": tombstone_key(_NAMESPACE, _ID),
    "claim": claim_key(_NAMESPACE, _ID),
    "manifest": head_key(_NAMESPACE),
    "token": f"{TOKEN_PREFIX}{'0' * 64}.json",
}


@pytest.mark.parametrize("key", _GUARDED_KEYS.values(), ids=_GUARDED_KEYS)
def test_what_has_no_second_copy_cannot_be_overwritten_without_a_precondition(key: str, bucket: Bucket) -> None:
    assert bucket.refusal_of_put(key) == "AccessDenied"


def test_a_memory_can_be_written_with_a_precondition(bucket: Bucket) -> None:
    # The condition decides nothing here, but that it was looked at shows that the policy let the request through.
    assert bucket.refusal_of_put(_MEMORY_KEY, IfMatch="0" * 32) in ("NoSuchKey", "PreconditionFailed")
