"""The table of functions: what each is, what it needs and what it may do.

A new function is a new row, here and in ``FUNCTIONS``, and a line in the stack that says what calls it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from infra.permissions import (
    ALL_MEMORY,
    ALL_SESSIONS,
    ATTRIBUTIONS,
    BATCHES,
    CLAIMS,
    CONSOLIDATIONS,
    CONTENTS,
    ERASURES,
    HEADS,
    HISTORY,
    INDEX,
    INDEX_LEFTOVERS,
    LEFTOVERS,
    LOG_ENTRIES,
    MARKERS,
    MEMORIES,
    OPEN_ERASURES,
    TOKENS,
    TOMBSTONES,
    VECTORS,
    WINDOWS,
    Access,
    cursor_of,
)
from infra.settings import Settings

# Lambda gives one whole processor from here on.
ONE_PROCESSOR_MB: Final = 1_769
# What answers people waits for S3 nine tenths of its time, and Lambda bills waiting like work.
_HALF_PROCESSOR_MB: Final = 896
# An HTTP API waits 30 s at most; what it gave up on need not go on.
_REQUEST_SECONDS: Final = 29
_ROUND_SECONDS: Final = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSpec:
    """What one function is.

    Attributes:
        name: of its folder below ``functions``.
        memory_mb: and with it its share of a processor.
        timeout_seconds: how long one invocation may take, or where the settings say it.
        access: what it may do with objects.
        embeds: True if it makes vectors, unless the settings say that there are none.
        converses: True if it takes part in conversations.
        generates: True if it calls a language model.
        is_mcp: True if it speaks MCP.
        verifies_tokens: True if it looks at the tokens of clients.
        is_fast_start: True if people wait for it: it starts from a snapshot.
        is_scheduled: True if a schedule calls it, so that nobody waits for the answer.
    """

    name: str
    memory_mb: int = ONE_PROCESSOR_MB
    timeout_seconds: int | Callable[[Settings], int]
    access: Access
    embeds: bool = False
    converses: bool = False
    generates: bool = False
    is_mcp: bool = False
    verifies_tokens: bool = False
    is_fast_start: bool = False
    is_scheduled: bool = False

    @property
    def construct_id(self) -> str:
        """Its name as a construct."""
        return "".join(word.capitalize() for word in self.name.split("_"))

    def timeout(self, settings: Settings) -> int:
        """Return how many seconds one invocation may take."""
        return self.timeout_seconds if isinstance(self.timeout_seconds, int) else self.timeout_seconds(settings)

    def memory(self, settings: Settings) -> int:
        """Return the MB of memory that it is given."""
        return settings.memory_mb.get(self.name, self.memory_mb)

    def layers(self, settings: Settings) -> tuple[str, ...]:
        """Return the names of the layers that it needs."""
        has_model = self.embeds and settings.has_embeddings
        # PyJWT and cryptography are among what the MCP SDK brings.
        has_mcp = self.is_mcp or (self.verifies_tokens and settings.has_identity_provider)
        return ("memory", "vendor", *(["onnx"] if has_model else []), *(["mcp"] if has_mcp else []))


# What an erasure deletes, and of what it removes earlier versions. Tombstones, claims and manifests are not among it.
_ERASED: Final = (*CONTENTS, *LEFTOVERS, *INDEX_LEFTOVERS, *BATCHES, *OPEN_ERASURES)
_PURGED: Final = (*_ERASED, *WINDOWS, *ATTRIBUTIONS)

HTTP_API: Final = FunctionSpec(
    name="http_api",
    memory_mb=_HALF_PROCESSOR_MB,
    timeout_seconds=_REQUEST_SECONDS,
    access=Access(
        read=(*ALL_MEMORY, *ALL_SESSIONS),
        write=(
            *MEMORIES,
            *TOMBSTONES,
            *CLAIMS,
            *INDEX,
            *MARKERS,
            *WINDOWS,
            *BATCHES,
            *ATTRIBUTIONS,
            *ERASURES,
            *CONSOLIDATIONS,
            *HISTORY,
        ),
        delete=_ERASED,
        purge=_PURGED,
        read_versions=(*CONTENTS, *LEFTOVERS),
        list=(*ALL_MEMORY, *ALL_SESSIONS),
    ),
    embeds=True,
    converses=True,
    is_fast_start=True,
)
MCP_ENDPOINT: Final = FunctionSpec(
    name="mcp_endpoint",
    memory_mb=_HALF_PROCESSOR_MB,
    timeout_seconds=_REQUEST_SECONDS,
    access=Access(
        read=ALL_MEMORY,
        # No tool lets a client choose an id, so there is nothing to claim.
        write=(*MEMORIES, *TOMBSTONES, *INDEX, *MARKERS, *HISTORY),
        delete=(*MEMORIES, *INDEX_LEFTOVERS, *HISTORY),
        purge=(*INDEX_LEFTOVERS, *HISTORY),
        list=ALL_MEMORY,
    ),
    embeds=True,
    is_mcp=True,
    is_fast_start=True,
)
AUTHORIZER: Final = FunctionSpec(
    name="authorizer",
    memory_mb=1_024,
    timeout_seconds=10,
    access=Access(read=TOKENS, list=TOKENS),
    verifies_tokens=True,
)
INDEXER: Final = FunctionSpec(
    name="indexer",
    timeout_seconds=lambda settings: settings.indexer_timeout_seconds,
    access=Access(
        read=ALL_MEMORY,
        write=(*INDEX, *MARKERS),
        # A memory that was forgotten while it was written is deleted by whoever finds it.
        delete=(*MEMORIES, *INDEX_LEFTOVERS),
        purge=INDEX_LEFTOVERS,
        list=ALL_MEMORY,
    ),
)
EMBEDDER: Final = FunctionSpec(
    name="embedder",
    timeout_seconds=lambda settings: settings.embedder_timeout_seconds,
    access=Access(read=ALL_MEMORY, write=(*HEADS, *VECTORS), list=ALL_MEMORY),
    embeds=True,
)
DIGESTER: Final = FunctionSpec(
    name="digester",
    timeout_seconds=lambda settings: settings.digester_timeout_seconds,
    access=Access(
        read=(*ALL_MEMORY, *ALL_SESSIONS),
        # It stores memories as any writer does, and leaves their index to the indexer.
        write=(*MEMORIES, *TOMBSTONES, *CLAIMS, *LOG_ENTRIES, *WINDOWS, *BATCHES, *ATTRIBUTIONS),
        delete=(*MEMORIES, *BATCHES, *HISTORY),
        purge=(*BATCHES, *HISTORY),
        list=(*ALL_MEMORY, *ALL_SESSIONS),
    ),
    embeds=True,
    converses=True,
    generates=True,
    is_scheduled=True,
)
PRUNER: Final = FunctionSpec(
    name="pruner",
    timeout_seconds=_ROUND_SECONDS,
    access=Access(
        read=ALL_MEMORY,
        # Before a memory goes, what it superseded gets its end written down.
        write=(*MEMORIES, *HISTORY, *TOMBSTONES, *INDEX, *MARKERS, *CONSOLIDATIONS, *cursor_of("pruner")),
        delete=(*MEMORIES, *HISTORY, *INDEX_LEFTOVERS, *CONSOLIDATIONS),
        purge=(*INDEX_LEFTOVERS, *HISTORY),
        list=ALL_MEMORY,
    ),
    is_scheduled=True,
)
CONSOLIDATOR: Final = FunctionSpec(
    name="consolidator",
    timeout_seconds=_ROUND_SECONDS,
    access=Access(
        read=ALL_MEMORY,
        write=(*MEMORIES, *TOMBSTONES, *CLAIMS, *INDEX, *MARKERS, *CONSOLIDATIONS, *cursor_of("consolidator")),
        delete=(*MEMORIES, *HISTORY, *INDEX_LEFTOVERS, *CONSOLIDATIONS),
        purge=(*INDEX_LEFTOVERS, *HISTORY),
        list=ALL_MEMORY,
    ),
    embeds=True,
    generates=True,
    is_scheduled=True,
)
SWEEPER: Final = FunctionSpec(
    name="sweeper",
    timeout_seconds=_ROUND_SECONDS,
    access=Access(
        # Most of this is for erasures that somebody left unfinished.
        read=(*ALL_MEMORY, *ALL_SESSIONS),
        write=(*TOMBSTONES, *INDEX, *MARKERS, *WINDOWS, *ATTRIBUTIONS, *ERASURES, *cursor_of("sweeper")),
        delete=_ERASED,
        purge=_PURGED,
        read_versions=(*CONTENTS, *LEFTOVERS),
        list=(*ALL_MEMORY, *ALL_SESSIONS),
    ),
    embeds=True,
    is_scheduled=True,
)
FUNCTIONS: Final = (HTTP_API, MCP_ENDPOINT, AUTHORIZER, INDEXER, EMBEDDER, DIGESTER, PRUNER, SWEEPER, CONSOLIDATOR)
FUNCTION_NAMES: Final = frozenset(spec.name for spec in FUNCTIONS)


def chosen_functions(settings: Settings) -> tuple[FunctionSpec, ...]:
    """Return the functions of a deployment: without vectors nobody has anything to embed."""
    return tuple(spec for spec in FUNCTIONS if spec is not EMBEDDER or settings.has_embeddings)
