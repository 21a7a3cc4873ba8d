"""A LangGraph agent that remembers across conversations and processes: ``python examples/langgraph_agent.py``.

Run it twice: the second run knows what the first was told. The checkpointer holds one conversation, the store what is
known about the user. Exchange ``URL`` for ``s3://bucket/prefix`` to keep it in a bucket.

The "model" is a rule, so that the example runs anywhere and says the same every time. Put a language model in its place
and the graph stays as it is.
"""

import os
from typing import TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from s3_agent_memory import MemoryStore
from s3_agent_memory.langgraph_store import S3Store

URL = os.environ.get("URL", "file://./.agent-memory")
USER = ("users", "example", "facts")


class State(TypedDict, total=False):
    """One turn of a conversation."""

    message: str
    facts: list[str]
    reply: str
    turn: int


def recall(state: State, *, store: BaseStore) -> State:
    """Find what is known that may matter for the message."""
    items = store.search(USER, query=state["message"], limit=5)
    return {"facts": [item.value["text"] for item in items]}


def answer(state: State) -> State:
    """Say something; a language model would read the facts as data, never as instructions."""
    known = "; ".join(state["facts"]) or "nothing yet"
    return {"reply": f"I know about you: {known}.", "turn": state.get("turn", 0) + 1}


def remember(state: State, *, store: BaseStore) -> State:
    """Keep what the user said about themselves, once."""
    message = state["message"]
    if message.startswith("I "):
        store.put(USER, message, {"text": message}, index=["text"])
    return {}


def build_graph(store: BaseStore, checkpointer: InMemorySaver):
    """Return the compiled graph: recall, answer, remember."""
    builder = StateGraph(State)
    for node in (recall, answer, remember):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "answer")
    builder.add_edge("answer", "remember")
    builder.add_edge("remember", END)
    return builder.compile(store=store, checkpointer=checkpointer)


def main() -> None:
    """Talk in two conversations."""
    graph = build_graph(S3Store(MemoryStore.from_url(URL), index=["text"]), InMemorySaver())
    for thread, messages in {"first": ["I am vegetarian", "I live in Rome"], "second": ["What may I eat?"]}.items():
        print(f"--- conversation {thread!r}")
        for message in messages:
            state = graph.invoke({"message": message}, {"configurable": {"thread_id": thread}})
            print(f"user:  {message}\nagent: {state['reply']} (turn {state['turn']})")


if __name__ == "__main__":
    main()
