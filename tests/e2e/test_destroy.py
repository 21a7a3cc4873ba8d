"""The end of a deployment, which must not be the end of the memories. Runs last."""

from tests.e2e import deployment as deploying
from tests.e2e.account import Account, Bucket
from tests.e2e.api import NewCaller
from tests.e2e.emulator import Emulator


def test_destroying_the_stack_keeps_the_bucket_with_its_memories(
    emulator: Emulator, account: Account, bucket: Bucket, new_caller: NewCaller
) -> None:
    new_caller("kept").remember("This outlives the stack")
    keys = bucket.keys("memory/kept/semantic/")
    assert len(keys) == 1

    deploying.destroy(emulator)

    stacks = account.client("cloudformation").list_stacks(StackStatusFilter=["CREATE_COMPLETE", "UPDATE_COMPLETE"])
    assert deploying.STACK_NAME not in {stack["StackName"] for stack in stacks["StackSummaries"]}
    assert b"This outlives the stack" in bucket.read(keys[0])
