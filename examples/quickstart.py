"""Remember, recall, update, forget and move memories, in one process without any set-up.

    python examples/quickstart.py

Exchange the URL for ``file://./memories`` or ``s3://bucket/prefix`` to keep them.
"""

from s3_agent_memory import MemoryStore


def main() -> None:
    """Walk through the library."""
    store = MemoryStore.from_url("memory://")
    alice = "users/alice"

    diet = store.remember(alice, "Alice is vegetarian", tags=["food"], importance=0.8)
    store.remember(alice, "Alice prefers metric units", kind="procedural")
    store.remember(alice, "Asked for a ramen recipe", kind="episodic", ttl=7 * 86_400, data={"city": "Rome"})

    print("What is known about ramen in Rome:")
    for hit in store.recall(alice, "ramen recipes", filter={"data.city": "Rome"}):
        print(f"  {hit.score:.2f}  {hit.memory.content}  ({hit.key})")

    # With the expected version a change that somebody else made in between is never overwritten.
    diet = store.update(alice, diet.id, content="Alice is vegan", expected_version=diet.version)
    print(f"Version {diet.version}: {diet.content}")

    print("The same memories for another agent:")
    store.import_("agents/cook", store.export(alice))
    for memory in store.list("agents/cook").memories:
        print(f"  {memory.kind:10}  {memory.content}")

    store.forget(alice, diet.id, reason="asked to")
    print(f"Left after forgetting: {store.stats(alice).memories}")


if __name__ == "__main__":
    main()
