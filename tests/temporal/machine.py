"""Facts that change, end, return and arrive late, in a store whose index is folded, merged and rebuilt meanwhile."""

import json
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, precondition, rule

from s3_agent_memory.domain.clock import to_datetime
from s3_agent_memory.domain.codec import memory_from_json
from s3_agent_memory.domain.keys import memory_prefix
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.domain.validity import MemoryVersion, Moment
from s3_agent_memory.errors import NotFoundError, ValidationError
from s3_agent_memory.storage.port import Get, StoredObject
from tests.temporal.truth import begin_of, true_ids
from tests.unit.service.worlds import NAMESPACE, PLACE, World

_TICK = timedelta(microseconds=1)
# As many memories as there are may follow one another at one moment, each a tick after the one before.
_TICKS_AHEAD = 100 * _TICK
_ids: Bundle[str] = Bundle("ids")
# Few moments, so that beginnings and ends often coincide.
_steps = st.integers(min_value=-4, max_value=4)
_some_steps = st.none() | _steps


class TemporalMachine(RuleBasedStateMachine):
    """A store, and after every step a look at all moments at which anything changes."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.base = to_datetime(self.world.clock.now_us())
        self.has_merged = False

    # --- what is there -------------------------------------------------------------------------------------------

    @property
    def now(self) -> datetime:
        return to_datetime(self.world.clock.now_us())

    def moment(self, step: int | None) -> datetime | None:
        return None if step is None else self.base + timedelta(seconds=step)

    def living(self) -> dict[str, Memory]:
        """Return every memory object; nothing here dies half-way, so none is dead."""
        store = self.world.store.inner
        objects = store.list_page(memory_prefix(PLACE, Kind.SEMANTIC)).objects
        bodies = store.read_many([Get(item.key, 10**6) for item in objects])
        found = [memory_from_json(json.loads(body.body)) for body in bodies if isinstance(body, StoredObject)]
        return {memory.id: memory for memory in found}

    def moments(self, living: dict[str, Memory]) -> list[datetime]:
        edges = {self.now, self.base}
        for memory in living.values():
            edges |= {moment for moment in (begin_of(memory), memory.valid_to) if moment is not None}
        return sorted({edge + shift for edge in edges for shift in (-_TICK, timedelta(0), _TICK)})

    def true_at(self, at: datetime | None) -> set[str]:
        page = self.world.memories.list(NAMESPACE, as_of=at, limit=100)
        assert page.next_cursor is None
        return {memory.id for memory in page.memories}

    # --- what callers do -----------------------------------------------------------------------------------------

    @rule(target=_ids, begin=_some_steps, length=st.none() | st.integers(min_value=0, max_value=4))
    def remember(self, begin: int | None, length: int | None) -> Any:
        start = self.moment(begin)
        valid_to = None if length is None else (start or self.now) + timedelta(seconds=length)
        return self.world.memories.remember(NAMESPACE, "Alice lives here", valid_from=start, valid_to=valid_to).id

    @rule(target=_ids, memory_id=_ids, begin=_some_steps)
    def supersede(self, memory_id: str, begin: int | None) -> Any:
        before = self.living()
        try:
            new = self.world.memories.supersede(
                NAMESPACE, memory_id, "Alice lives there", valid_from=self.moment(begin)
            )
        except NotFoundError:
            assert memory_id not in before
            return multiple()
        after = self.living()
        assert {name: memory for name, memory in after.items() if name != new.id} == before
        assert before[memory_id].named_version in new.supersedes
        return new.id

    @rule(memory_id=_ids)
    def change(self, memory_id: str) -> None:
        """A changed memory counts again: nobody has said anything of this version yet."""
        try:
            changed = self.world.memories.update(NAMESPACE, memory_id, importance=0.7)
        except NotFoundError:
            return
        rivals = [memory for memory in self.living().values() if set(memory.supersedes) & set(changed.supersedes)]
        if changed.is_true_at(Moment(self.world.clock.now_us())) and len(rivals) <= 1:
            assert memory_id in self.true_at(None)

    @rule(memory_id=_ids, end=_some_steps)
    def end_or_reopen(self, memory_id: str, end: int | None) -> None:
        try:
            self.world.memories.update(NAMESPACE, memory_id, valid_to=self.moment(end))
        except (NotFoundError, ValidationError):
            # Nobody can end a memory before it begins.
            return

    @rule(memory_id=consumes(_ids))
    def forget(self, memory_id: str) -> None:
        """What the forgotten memory had put an end to does not come back, at any moment."""
        before = self.living()
        memory = before.get(memory_id)
        if memory is None:
            return
        # What was created by a clock that is ahead is in force since now, and as of that clock a little later.
        moments = [at for at in self.moments(before) if not self.now <= at <= self.now + _TICKS_AHEAD]
        has_begun = memory.valid_from is None or memory.valid_from <= self.now
        seen = {at: self.true_at(at) for at in moments} if has_begun else {}
        present = self.true_at(None)
        self.world.memories.forget(NAMESPACE, memory_id)
        if has_begun:
            assert {at: self.true_at(at) for at in moments} == {at: ids - {memory_id} for at, ids in seen.items()}
        assert self.true_at(None) == present - {memory_id}

    @rule(target=_ids, first=_ids, second=_ids)
    def consolidate(self, first: str, second: str) -> Any:
        """Write what a consolidation writes: one memory that names those whose place it takes."""
        living = self.living()
        named = tuple(MemoryVersion(name, living[name].version) for name in {first, second} if name in living)
        if not named:
            return multiple()
        services = self.world.parts.services
        new_id = self.world.parts.runtime.ids.new_id()
        memory = Memory(
            id=new_id,
            namespace=PLACE,
            kind=living[named[0].id].kind,
            content="Alice lives somewhere",
            created_at=self.now,
            updated_at=self.now,
            consolidated_from=named,
        )
        services.writer.create(memory)
        return new_id

    @rule(memory_id=_ids)
    def undo(self, memory_id: str) -> None:
        """Take a consolidated memory away by itself: the exact state before comes back."""
        memory = self.living().get(memory_id)
        if memory is None or not memory.consolidated_from:
            return
        rest = {name: other for name, other in self.living().items() if name != memory_id}
        self.world.parts.services.writer.forget(PLACE, memory_id)
        assert self.living() == rest

    # --- what the index does meanwhile ----------------------------------------------------------------------------

    @rule(seconds=st.integers(min_value=0, max_value=2))
    def let_time_pass(self, seconds: int) -> None:
        self.world.clock.advance(seconds)

    @rule()
    def fold(self) -> None:
        self.world.fold()

    @precondition(lambda self: not self.has_merged)
    @rule()
    def fold_often_then_compact(self) -> None:
        self.has_merged = True
        for _ in range(8):
            self.world.memories.remember(NAMESPACE, "filler", valid_from=self.base, valid_to=self.base)
            self.world.fold()
        self.world.clean_up_log()
        assert self.world.compact() or len(self.world.manifest.segments) < 8

    @rule()
    def reindex(self) -> None:
        report = self.world.another_process().memories.reindex(NAMESPACE)
        assert report.digest_before == report.digest_after

    @invariant()
    def agrees_with_the_rules(self) -> None:
        living = self.living()
        assert self.true_at(None) == true_ids(living.values(), self.now, now=True)
        for at in self.moments(living):
            assert self.true_at(at) == true_ids(living.values(), at, now=False), at
        recalled = {hit.memory.id for hit in self.world.memories.recall(NAMESPACE, "", limit=100)}
        assert recalled == self.true_at(None)

    def teardown(self) -> None:
        assert self.world.another_process().memories.sweep(NAMESPACE).repaired == 0
