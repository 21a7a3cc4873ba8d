"""A bucket in which everything lies that a function can meet."""

from collections.abc import Sequence
from itertools import count

from s3_agent_memory import names
from s3_agent_memory.bootstrap import Parts, Settings
from s3_agent_memory.domain.clock import SystemClock, to_datetime
from s3_agent_memory.domain.keys import (
    TruthKey,
    index_prefix,
    memory_prefix,
    namespace_prefix,
    parse_namespace,
    segment_prefix,
    vector_prefix,
)
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Attribution
from s3_agent_memory.domain.scopes import Contributor
from s3_agent_memory.domain.tiers import TierSettings
from s3_agent_memory.domain.timestamps import format_timestamp
from s3_agent_memory.domain.turns import ExtractedMemory, Turn
from s3_agent_memory.service.conversations.digest_worker import DigestTools
from s3_agent_memory.service.conversations.parts import ConversationParts
from s3_agent_memory.service.grace import LOG_GRACE_MS, ORPHAN_AGE_MS, TRASH_GRACE_MS
from s3_agent_memory.service.prompting.digesting import Digester
from s3_agent_memory.service.upkeep.housekeeper import Folding
from tests.fakes.clock import FakeClock
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.entropy import SeededEntropy
from tests.infra.recorded_bucket import RecordedStore

NAMESPACE = "users/alice"
PLACE = parse_namespace(NAMESPACE)
MERGE_COUNT = 8
# A thousand entries would show no more, but take a minute.
FOLD_INLINE_ENTRY_COUNT = 20
# Log entries go some time after their fold, segments may be merged then, and those that were go after another time.
WAITS_MS = (0, LOG_GRACE_MS, LOG_GRACE_MS, TRASH_GRACE_MS, TRASH_GRACE_MS)
WINDOW_TOKENS = 64


class Past:
    """A bucket in which everything lies that a function can meet, and a process whose requests are recorded."""

    def __init__(self, *, embeds: bool) -> None:
        # The bucket dates objects by the real clock; no object may come from the future.
        self.clock = FakeClock(format_timestamp(to_datetime(SystemClock().now_us())))
        self.inner = RecordedStore()
        self.store = RecordedStore()
        self._seeds = count()
        self.parts = self.open(self.store, embeds=embeds)
        self._live()

    def open(self, store: RecordedStore, *, embeds: bool = False) -> Parts:
        """Return a process over the bucket that folds as one beside an indexer does."""
        return Parts(
            Settings(url="memory://"),
            store=store,
            embedder=FakeEmbedder() if embeds else None,
            folding=Folding.INLINE,
            clock=self.clock,
            entropy=SeededEntropy(next(self._seeds)),
        )

    def pass_time(self, milliseconds: int) -> None:
        """Let time pass, and a little more."""
        self.clock.advance(milliseconds / 1_000 + 1)

    def _live(self) -> None:
        others = self.open(self.inner, embeds=True)
        for kind in Kind:
            others.memories.remember(NAMESPACE, f"{kind} to expire", kind=kind, ttl=1)
            others.memories.remember(NAMESPACE, f"{kind} to stay", kind=kind)
        # One segment short of a merge, so that whoever folds next merges.
        for number in range(MERGE_COUNT - 1):
            others.memories.remember(NAMESPACE, f"fold {number}")
            others.folder.fold(PLACE)
        self.open(self.inner).memories.remember(NAMESPACE, "without a vector")
        # Uploads that nobody committed.
        for prefix, suffix in ((segment_prefix(PLACE), "seg"), (vector_prefix(PLACE), "vec")):
            self.inner.put(f"{prefix}{0:013d}-{'0' * 16}.{suffix}", b"")
        self.pass_time(ORPHAN_AGE_MS)

    def replace_vectors(self) -> None:
        """Let somebody merge the shards, so that those they were wait to be deleted."""
        others = self.open(self.inner, embeds=True)
        for number in range(MERGE_COUNT):
            others.memories.remember(NAMESPACE, f"vector {number}")
            others.folder.fold(PLACE)
        assert others.vector_compactor.compact(PLACE)

    def converse(self, parts: Parts) -> ConversationParts:
        """Return the conversations of a process; their windows are small, and of digests only the last is kept."""
        settings = TierSettings(token_budget=WINDOW_TOKENS, digest_retention=1)
        conversations = ConversationParts.assemble(parts.runtime, parts.memories, parts.services, settings=settings)
        tools = DigestTools(extractor=_EveryKind(), keeper=_EveryKind(), digester=Digester(None))
        conversations.worker._begin = lambda: tools
        return conversations

    def lose_index(self) -> None:
        """Delete the index, as somebody may who knows that it is only a cache."""
        self.inner.delete_many([item.key for item in self.inner.list_page(index_prefix(PLACE)).objects])

    def leave_dead_objects(self) -> list[TruthKey]:
        """Let somebody die between tombstone and deletion, once for each kind; return what events say of it."""
        found = []
        for kind in Kind:
            memory = self.open(self.inner).memories.remember(NAMESPACE, f"{kind} to die", kind=kind)
            body = self.inner.get(memory.key, size_max=100_000)
            assert body is not None
            self.open(self.inner).memories.forget(NAMESPACE, memory.id)
            self.inner.put(memory.key, body.body)
            found.append(TruthKey(PLACE, kind, memory.id))
        return found

    def leave_leftovers(self) -> None:
        """Let memories of Alice, with what may lie beside them, be there."""
        others = self.open(self.inner)
        for kind in Kind:
            made = others.memories.remember(NAMESPACE, "hers", kind=kind, attribution=Attribution(user_id="alice"))
            others.memories.update(NAMESPACE, made.id, content="hers still")
            self.inner.put(f"{memory_prefix(PLACE, kind)}note.txt", b"no memory")
        document = b'{"id": "x", "content": "hers", "attribution": {"user_id": "alice"}}'
        for folder in names.LEFTOVER_FOLDERS:
            self.inner.put(f"{namespace_prefix(PLACE)}{folder}/x/1.json", document)
            # Somebody died between its deletion and that of its versions.
            self.inner.put(f"{namespace_prefix(PLACE)}{folder}/x/2.json", document)
            self.inner.delete(f"{namespace_prefix(PLACE)}{folder}/x/2.json")

    def fold_as_writer(self) -> None:
        """Do what a writer does when the indexer has fallen behind, again and again."""
        memories = self.parts.memories
        for number in range(FOLD_INLINE_ENTRY_COUNT):
            self.open(self.inner).memories.remember(NAMESPACE, f"late {number}")
        memories.recall(NAMESPACE, "something")
        memories.remember(NAMESPACE, "one too many")
        assert any(call.action == "s3:PutObject" and call.key.endswith("/HEAD") for call in self.store.calls)
        self.replace_vectors()
        for wait in WAITS_MS:
            self.pass_time(wait)
            memories.remember(NAMESPACE, "more")
            self.parts.services.housekeeper.tidy(PLACE)


class _EveryKind:
    """Finds a memory of every kind in whatever is said, as a language model may."""

    def extract(self, turns: Sequence[Turn], attribution: Contributor) -> list[ExtractedMemory]:  # noqa: ARG002  # The port has it.
        return [ExtractedMemory(content=f"{kind}: {turns[0].content}", kind=kind) for kind in Kind]
