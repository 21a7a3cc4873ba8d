"""What the comparison asks of every memory system: one narrow port, and the list of those that are compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol

from benchmarks.quality_corpora import Item
from s3_agent_memory.embedding.port import Vectors

RESULT_COUNT: Final = 10


class TextEmbedder(Protocol):
    """Turns texts into vectors of length 1; the same object for every system."""

    name: str
    dimension: int

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text."""

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question."""


class Peer(Protocol):
    """One memory system over one directory; what was written is found by the next search."""

    def load(self, items: Sequence[Item]) -> None:
        """Store many memories at once, the way its documentation says that is done fast."""

    def write(self, item: Item) -> None:
        """Store one memory, as an agent does after a turn."""

    def search(self, question: str) -> list[str]:
        """Return the ids of the best ten memories, the best first."""

    def count(self) -> int:
        """Return how many memories are stored."""

    def close(self) -> None:
        """Let go of everything."""


class PeerClass(Protocol):
    """Opens a system over a directory, empty or filled before."""

    def __call__(self, folder: Path, embedder: TextEmbedder) -> Peer: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A system and how it is used.

    Attributes:
        module, name_of_class: the adapter.
        packages: whose versions are recorded; the first one must be installed.
        settings: everything that is not the default, or that a reader should know.
        durability: what is left of an acknowledged write when the machine loses power.
        is_persistent: False if its contents end with the process.
        has_vectors: whether it is given the embedder.
        writers: ways of writing at once that make sense for it.
        is_timed: False leaves it to the comparison of quality.
    """

    module: str
    name_of_class: str
    packages: tuple[str, ...]
    settings: tuple[str, ...]
    durability: str
    is_persistent: bool = True
    has_vectors: bool = True
    writers: tuple[str, ...] = ("processes", "threads")
    is_timed: bool = True

    def open(self, folder: Path, embedder: TextEmbedder) -> Peer:
        """Open it; its library is loaded by this.

        Raises:
            ImportError: the library is not installed.
        """
        opener: PeerClass = getattr(import_module(f"benchmarks.peers.{self.module}"), self.name_of_class)
        return opener(folder, embedder)


def with_author(item: Item) -> str:
    """Return the text as it is given to systems that have no field for who said it."""
    return f"{item.author}: {item.text}" if item.author else item.text


OURS: Final = "s3-agent-memory"
OURS_WORDS: Final = "s3-agent-memory, no model"
OURS_TEXT: Final = "s3-agent-memory, text only"
_OURS_DURABILITY: Final = "kept: every object is flushed to disk before the answer"

CONTENDERS: Final[Mapping[str, Contender]] = {
    OURS: Contender(
        module="library",
        name_of_class="Library",
        packages=(),
        settings=("MemoryStore over file://, all defaults", "bulk: import_"),
        durability=_OURS_DURABILITY,
    ),
    OURS_WORDS: Contender(
        module="library",
        name_of_class="LibraryWithoutModel",
        packages=(),
        settings=("the same without an embedder",),
        durability=_OURS_DURABILITY,
        has_vectors=False,
    ),
    OURS_TEXT: Contender(
        module="library",
        name_of_class="LibraryTextOnly",
        packages=(),
        settings=("the same text as the others get, without author, session and date",),
        durability=_OURS_DURABILITY,
        is_timed=False,
    ),
    "single file": Contender(
        module="single_file",
        name_of_class="SingleFile",
        packages=(),
        settings=(
            "one JSON index, swapped whole by every write on condition that it is unchanged, at most 20 attempts",
            "words only; the same analyzer as s3-agent-memory",
            "readers keep it in memory and load it again when it has changed",
        ),
        durability=_OURS_DURABILITY,
        has_vectors=False,
    ),
    "bm25s": Contender(
        module="bm25s_index",
        name_of_class="Bm25sIndex",
        packages=("bm25s", "numba", "PyStemmer"),
        settings=(
            'backend "numba", method "lucene", English stop words and Snowball stems, memory-mapped when loaded',
            "it cannot be added to: a write builds and saves the index anew",
        ),
        durability="written, not flushed to disk",
        has_vectors=False,
        writers=(),
    ),
    "LanceDB": Contender(
        module="lance",
        name_of_class="Lance",
        packages=("lancedb", "pyarrow"),
        settings=(
            'hybrid search (query_type="hybrid") with reciprocal rank fusion, full-text index: all by its defaults',
            "vector index by its defaults from 10,000 memories on, cosine; fewer are scanned",
            "optimize() after a bulk load, after every 100 single writes and before the process ends",
        ),
        durability="written, not flushed to disk",
    ),
    "Chroma": Contender(
        module="chroma",
        name_of_class="Chroma",
        packages=("chromadb",),
        settings=(
            "PersistentClient, HNSW with cosine, all else default: vectors only",
            "bulk: add() in largest batches",
        ),
        durability="in SQLite's journal",
    ),
    "LangGraph InMemoryStore": Contender(
        module="langgraph_stores",
        name_of_class="InMemory",
        packages=("langgraph", "langgraph-checkpoint"),
        settings=('index={"dims", "embed"}, each put with index=["text"]', "bulk: batch() of 1,000 puts"),
        durability="lost when the process ends; cold open means loading everything again",
        is_persistent=False,
        writers=("threads",),
    ),
    "LangGraph SqliteStore": Contender(
        module="langgraph_stores",
        name_of_class="Sqlite",
        packages=("langgraph-checkpoint-sqlite", "sqlite-vec"),
        settings=(
            'opened as from_conn_string does, index={"dims", "embed"}, each put with index=["text"]',
            "bulk: batch() of 1,000 puts",
        ),
        durability="kept: SQLite flushes every transaction",
    ),
    "mem0": Contender(
        module="mem0_memory",
        name_of_class="Mem0",
        packages=("mem0ai", "qdrant-client", "langchain"),
        settings=(
            "infer=False, Qdrant in a local directory (its default; on_disk=True), embedder by its LangChain provider",
            "no model of any kind is called; telemetry off; its keyword part needs files of a model hub and is off",
            "it has no way to load many memories at once: one add() a memory",
        ),
        durability="in SQLite's journal",
    ),
}
