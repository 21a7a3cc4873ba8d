"""Rules after which nothing may look different: time, folds, merges, sweeps, rebuilds, a lost index, and copies."""

import json
from typing import Any, Final

from hypothesis.stateful import multiple, precondition, rule

from s3_agent_memory.domain.keys import TruthKey, index_prefix, parse_namespace
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.index.merge_policy import FAN_OUT
from tests.model import inputs
from tests.model.world import World, ids, processes

# Some rules do the work of dozens; a run has room for a few of them.
COSTLY_COUNT_MAX: Final = 2


class Upkeep(World):
    """Every rule works on the store alone; what it reports must be what the dictionary says."""

    @rule(seconds=inputs.steps_seconds)
    def let_time_pass(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(process=processes)
    def fold(self, process: int) -> None:
        """Let the indexer fold, as any event makes it do, whatever the event names."""
        event = TruthKey(parse_namespace(self.namespace), Kind.SEMANTIC, "absent")
        assert self.parts[process].indexer.run([event]).failed == ()
        self.model.unfolded_ids.clear()

    @precondition(lambda self: self.merge_count < COSTLY_COUNT_MAX)
    @rule(target=ids, found=inputs.new_memories(min_size=FAN_OUT, max_size=FAN_OUT))
    def fold_often_then_compact(self, found: list[inputs.NewMemory]) -> Any:
        """Make as many small segments as a merge needs, and wait until it may take them."""
        self.merge_count += 1
        self.fold(0)
        place = parse_namespace(self.namespace)
        parts = self.parts[0]
        created = []
        for new in found:
            created.append(self.create(0, *new))
            parts.folder.fold(place)
        parts.folder.fold(place)
        self.clock.advance(61)
        parts.folder.fold(place)
        assert parts.compactor.compact(place) >= FAN_OUT
        parts.collector.empty_trash(place)
        return multiple(*created)

    @rule(process=processes)
    def sweep(self, process: int) -> None:
        report = self.memories(process).sweep(self.namespace)
        assert (report.checked, report.vanished) == (len(self.model.memories), 0)
        # The rows of deletions were lost with the index; nobody misses them, and the sweep brings them back.
        assert report.repaired <= (len(self.model.deleted_versions) if self.was_index_lost else 0)
        assert report.corrupt_keys == ()
        self.model.unfolded_ids.clear()

    @rule(process=processes)
    def reindex(self, process: int) -> None:
        report = self.memories(process).reindex(self.namespace)
        # There is no digest of an index that is lost.
        assert report.digest_before in (report.digest_after, "")
        assert report.memories == len(self.model.memories)
        self.model.unfolded_ids.clear()

    @precondition(lambda self: self.model.memories)
    @rule()
    def lose_the_index(self) -> None:
        """Delete the whole cache; nobody may notice. Objects of the last minute would count as under way."""
        self.clock.advance(61)
        prefix = index_prefix(parse_namespace(self.namespace))
        self.store.delete_many([item.key for item in self.store.list_page(prefix).objects])
        self.model.unfolded_ids.update(self.model.kinds)
        self.was_index_lost = True

    @precondition(lambda self: self.copy_count < COSTLY_COUNT_MAX)
    @rule(process=processes)
    def copy_by_export_and_import(self, process: int) -> None:
        self.copy_count += 1
        copy = f"{self.namespace}/copy-{self.copy_count}"
        lines = list(self.memories(process).export(self.namespace, include_expired=True))
        report = self.memories(1 - process).import_(copy, lines)
        assert (report.imported, report.errors) == (len(lines), ())
        names = [json.dumps(name.split("/"), separators=(",", ":")) for name in (self.namespace, copy)]
        copied = list(self.memories(process).export(copy, include_expired=True))
        assert [line.replace(names[1], names[0], 1) for line in copied] == lines
        again = self.memories(process).import_(copy, lines)
        expired_count = len(self.model.expired_ids(self.now_us))
        assert (again.skipped, again.refused) == (len(lines) - expired_count, expired_count)

    @rule(process=processes)
    def import_over_itself(self, process: int) -> None:
        lines = list(self.memories(process).export(self.namespace, include_expired=True))
        report = self.memories(process).import_(self.namespace, lines, overwrite=True)
        expired = self.model.expired_ids(self.now_us)
        assert (report.overwritten, report.refused, report.errors) == (len(lines) - len(expired), len(expired), ())
        for memory in list(self.model.memories.values()):
            if memory.id not in expired:
                stored = self.memories(process).get(self.namespace, memory.id)
                self.accept(stored, self.expected_next(memory))
