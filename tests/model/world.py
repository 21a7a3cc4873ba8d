"""A store and a dictionary side by side: two processes over one object store, one clock, and what to expect."""

import json
import sys
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, multiple
from hypothesis.strategies import sampled_from

from s3_agent_memory.bootstrap import MemoryStore, Parts, Settings
from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.codec import memory_to_json
from s3_agent_memory.domain.keys import parse_namespace
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.domain.ranking import Ranking
from s3_agent_memory.domain.timestamps import parse_timestamp
from s3_agent_memory.service.upkeep.housekeeper import FOLD_ENTRY_COUNT, Folding
from s3_agent_memory.storage.port import ObjectStore
from tests.fakes.clock import FakeClock
from tests.fakes.entropy import SeededEntropy
from tests.model import inputs
from tests.model.dictionary import Dictionary, changed
from tests.model.rebuild import check_rebuild

# A retry moves ``updated_at`` by microseconds.
RETRY_TICKS: Final = timedelta(microseconds=8)

processes = sampled_from([0, 1])
ids: Bundle[str] = Bundle("ids")


class World(RuleBasedStateMachine):
    """What the rules share.

    The first process leaves folding to others; the second one folds after a few writes and then when it must.

    Attributes:
        model: what the namespace must hold.
    """

    def __init__(self, store: ObjectStore, clock: FakeClock, namespace: str) -> None:
        super().__init__()
        self.store, self.clock, self.namespace = store, clock, namespace
        self.model = Dictionary()
        self.copy_count = self.merge_count = 0
        self.was_index_lost = False
        self.seed = 0
        self.parts = (self.open(Folding.INLINE), self.open(Folding.LAZY))

    def open(self, folding: Folding = Folding.INLINE) -> Parts:
        """Open the store as another process does, without caches."""
        self.seed += 1
        return Parts(
            Settings(url="memory://"),
            store=self.store,
            folding=folding,
            folding_phase=FOLD_ENTRY_COUNT - 3,
            clock=self.clock,
            entropy=SeededEntropy(self.seed),
            # What is compared with the model is BM25; other signals have tests of their own.
            ranking=Ranking.classic(),
        )

    def memories(self, process: int) -> MemoryStore:
        return self.parts[process].memories

    @property
    def now_us(self) -> int:
        return self.clock.now_us()

    @initialize(target=ids)
    def choose_ids(self) -> Any:
        return multiple(*inputs.CHOSEN_IDS)

    def teardown(self) -> None:
        """Compare everything that is there with a rebuilt index, unless a rule has found something wrong already."""
        if sys.exc_info()[0] is not None:
            return
        exported = [json.loads(line) for line in self.open().memories.export(self.namespace, include_expired=True)]
        expected = sorted(self.model.memories.values(), key=lambda memory: (list(Kind).index(memory.kind), memory.id))
        assert exported == [memory_to_json(memory) for memory in expected]
        # A lost index is rebuilt here at the latest.
        self.memories(0).stats(self.namespace)
        check_rebuild(self.open(), self.open(), self.namespace, self.model.memories)

    def create(self, process: int, text: str, fields: dict[str, Any]) -> str:
        """Remember one memory, and return its id."""
        expected = self.expected_new("", text, fields)
        stored = self.memories(process).remember(self.namespace, text, **fields)
        assert stored.id not in self.model.kinds
        assert stored == replace(expected, id=stored.id)
        self.model.put(stored)
        return stored.id

    def accept(self, stored: Memory, expected: Memory) -> None:
        """Take over what was stored, which may be a little later than expected if it was tried again."""
        assert expected.updated_at <= stored.updated_at <= expected.updated_at + RETRY_TICKS
        assert stored == replace(expected, updated_at=stored.updated_at)
        self.model.put(stored)

    def expected_new(self, memory_id: str, text: str, fields: dict[str, Any]) -> Memory:
        now = to_datetime(self.now_us)
        plain = Memory(
            id=memory_id,
            namespace=parse_namespace(self.namespace),
            kind=Kind.SEMANTIC,
            content=text,
            created_at=now,
            updated_at=now,
        )
        return changed(plain, self.with_expiry(fields))

    def expected_next(self, memory: Memory) -> Memory:
        later = max(to_datetime(self.now_us), memory.updated_at + timedelta(microseconds=1))
        return replace(memory, version=memory.version + 1, updated_at=later)

    def with_expiry(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return fields with the moment that a time to live or a text means."""
        found = {name: value for name, value in fields.items() if name != "ttl"}
        if "ttl" in fields:
            found["expires_at"] = to_datetime(self.now_us) + timedelta(seconds=fields["ttl"])
        elif "expires_at" in fields:
            found["expires_at"] = parse_timestamp(fields["expires_at"], field="expires_at")
        return found
