"""Run the example's graph for one message, as a process of its own; print the state as JSON.

Arguments: directory, thread, message. Checkpoints are kept in the directory as well, so that a conversation goes on.
"""

import importlib.util
import json
import pickle
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from s3_agent_memory import MemoryStore
from s3_agent_memory.langgraph_store import S3Store

EXAMPLE = Path(__file__).parents[2] / "examples" / "langgraph_agent.py"


def load_example() -> Any:
    spec = importlib.util.spec_from_file_location("langgraph_agent", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def load_checkpoints(path: Path) -> InMemorySaver:
    saver = InMemorySaver()
    if path.exists():
        storage, writes, blobs = pickle.loads(path.read_bytes())
        saver.storage.update({thread: defaultdict(dict, spaces) for thread, spaces in storage.items()})
        saver.writes.update(writes)
        saver.blobs.update(blobs)
    return saver


def save_checkpoints(saver: InMemorySaver, path: Path) -> None:
    storage = {thread: dict(spaces) for thread, spaces in saver.storage.items()}
    path.write_bytes(pickle.dumps((storage, dict(saver.writes), dict(saver.blobs))))


def main(directory: Path, thread: str, message: str) -> None:
    checkpoints = directory / "checkpoints"
    saver = load_checkpoints(checkpoints)
    store = S3Store(MemoryStore.from_url(f"file://{directory}/memories"), index=["text"])
    graph = load_example().build_graph(store, saver)
    state = graph.invoke({"message": message}, {"configurable": {"thread_id": thread}})
    sys.stdout.write(json.dumps(state))
    save_checkpoints(saver, checkpoints)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
