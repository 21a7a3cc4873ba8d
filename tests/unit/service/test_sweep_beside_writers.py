"""A sweep compares a snapshot with the bucket while others write; what they acknowledge meanwhile must stay visible."""

from s3_agent_memory.bootstrap import Parts, Settings
from s3_agent_memory.domain.keys import parse_namespace

NAMESPACE = parse_namespace("users/alice")


def test_a_repair_keeps_memories_that_its_snapshot_knows_from_the_log_alone() -> None:
    parts = Parts(Settings(url="memory://"))
    parts.memories.remember("users/alice", "first")
    parts.services.sweeper.fold_all(NAMESPACE)
    parts.memories.remember("users/alice", "second")
    known = parts.services.index.view(NAMESPACE).snapshot

    parts.folder.fold(NAMESPACE, {"somebody-else": None}, known=known)

    assert [memory.content for memory in parts.memories.list("users/alice").memories] == ["second", "first"]
