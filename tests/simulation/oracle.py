"""What must hold at every step: the oracle sees every effect on the bucket and every answer to a caller.

The truth of an id is its object if that exists and no tombstone covers its version, else its tombstone. A write that
was not acknowledged is indeterminate: it may or may not have happened.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from s3_agent_memory.domain.clock import to_us
from s3_agent_memory.domain.keys import parse_truth_key
from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.index.segment import Segment
from s3_agent_memory.service.grace import TRASH_CROWDED_GRACE_MS
from tests.simulation.vector_oracle import VectorOracle
from tests.simulation.world import SECOND_US, Actor, Request, SimObject, ViolationError, World, folder_of

ROOT = "memory/sim/ns/"
HEAD = ROOT + "_index/HEAD"
SKEW_US = 5 * SECOND_US
MARK = "w"


@dataclass
class Landing:
    """A version that a call wrote into the bucket."""

    tick: int
    version: int
    was_live: bool
    expires_us: float


@dataclass
class Op:
    """One call by a client: what it asked for, what it did to the bucket, what it was told."""

    what: str
    memory_id: str | None
    mark: str
    start_tick: int
    start_us: int
    actor: Actor | None = None
    end_tick: float | None = None
    last_tick: int = 0
    pending: int = 0
    answer: str | None = None
    deletes_version: int = 0
    landings: list[Landing] = field(default_factory=list)
    seen_before: dict[str, int] = field(default_factory=dict)

    def upto(self) -> float:
        """The last moment at which this call may still change something."""
        return math.inf if self.end_tick is None or self.pending else max(self.end_tick, self.last_tick)


@dataclass
class State:
    """The truth of an id from one tick on."""

    tick: int
    rank: tuple[int, int]
    mark: str | None
    versions: frozenset[int]


@dataclass
class Acknowledged:
    """A write the caller was told of."""

    landed_tick: int
    acked_tick: int
    version: int
    expires_us: float


class Oracle:
    """Keeps the ground truth and raises ``ViolationError`` when a promise breaks."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ops: dict[str, Op] = {}
        self.writes: dict[str, list[Op]] = defaultdict(list)
        self.forgets: dict[str, list[Op]] = defaultdict(list)
        self.acked: dict[str, list[Acknowledged]] = defaultdict(list)
        self.history: dict[str, list[State]] = defaultdict(lambda: [State(-1, (0, 1), None, frozenset())])
        self.seen: dict[str, int] = {}
        self.erased_files: set[str] = set()
        self.counts: Counter[str] = Counter()
        self.vectors = VectorOracle(self._live_texts, self.fail)
        self.head_version = 0
        self.mark_count = 0
        world.reader = self.watch_read

    # --- calls --------------------------------------------------------------------------------------------------------

    def begin(self, what: str, memory_id: str | None) -> Op:
        self.mark_count += 1
        mark = f"{MARK}{self.mark_count}x"
        op = Op(what, memory_id, mark, self.world.tick, self.world.now_us, seen_before=dict(self.seen))
        op.last_tick = op.start_tick
        self.ops[mark] = op
        if memory_id is not None and what in ("create", "remember", "update", "import"):
            self.writes[memory_id].append(op)
        if memory_id is not None and what in ("forget", "prune"):
            self.forgets[memory_id].append(op)
        return op

    def attach(self, op: Op, actor: Actor) -> None:
        op.actor = actor
        actor.on_effect = lambda request: self._on_effect(op, request)
        actor.on_pending = lambda change: setattr(op, "pending", op.pending + change)
        actor.on_crash = lambda: self.end(op, "crash")

    def _on_effect(self, op: Op, request: Request) -> None:
        op.last_tick = self.world.tick
        if op.what == "forget" and request.verb == "put" and folder_of(request.key) == "log":
            document = json.loads(self.world.objects[request.key].body)
            op.deletes_version = document["version"]

    def end(self, op: Op, answer: str) -> None:
        op.answer = answer
        op.end_tick = self.world.tick

    def acknowledge(self, op: Op, memory: Memory) -> None:
        """A write was acknowledged with this memory."""
        self.acknowledge_version(op, memory.id, memory.version)

    def acknowledge_version(self, op: Op, memory_id: str, version: int) -> None:
        """A write was acknowledged, and this version is what it wrote."""
        self.end(op, "ack")
        mine = [landing for landing in op.landings if landing.version == version]
        if not any(landing.was_live for landing in mine):
            self.fail(f"acknowledged a version that never was live: {memory_id} v{version}")
        if any(other.version == version for other in self.acked[memory_id]):
            self.fail(f"two acknowledged writes of {memory_id} have version {version}")
        landed = min(landing.tick for landing in mine)
        self.acked[memory_id].append(Acknowledged(landed, self.world.tick, version, mine[0].expires_us))

    def refuse(self, op: Op, answer: str) -> None:
        """A write or forget was refused; the answer must fit some moment of the call."""
        self.end(op, answer)
        memory_id = op.memory_id or ""
        states = self.states(memory_id, op.start_tick)
        was_always_live = all(state.mark for state in states) and not self._may_be_expired(memory_id)
        if op.what == "forget":
            if answer == "not_found" and was_always_live:
                self.fail(f"forget says not found for {memory_id}, which was live throughout")
            return
        if self.history[memory_id][-1].mark == op.mark and answer != "unknown_outcome":
            self.fail(f"{op.what} of {memory_id} answered {answer} but its write is live")
        if answer == "conflict" and not any(state.mark and state.mark != op.mark for state in states):
            self.fail(f"conflict about {memory_id}, which was dead throughout")
        if answer == "not_found" and was_always_live:
            self.fail(f"{op.what} says not found for {memory_id}, which was live throughout")
        if answer == "forgotten" and not self.tombstone_version(memory_id) and not self._may_be_expired(memory_id):
            self.fail(f"{memory_id} refused as forgotten without a tombstone")

    # --- effects ------------------------------------------------------------------------------------------------------

    def watch(self, verb: str, key: str, old: SimObject | None, new: SimObject | None) -> None:
        """See one effect on the bucket."""
        if key == HEAD:
            self._watch_head(old, new)
        elif folder_of(key) in ("segments", "vectors"):
            self._watch_file(key, new)
        elif folder_of(key) == "log":
            self._watch_log(key, new)
        truth = parse_truth_key(key)
        if truth is not None and truth.memory_id != "junk":
            self._watch_truth(truth.memory_id, verb, old, new, is_tombstone=truth.kind is None)

    def _watch_file(self, key: str, new: SimObject | None) -> None:
        if new is None:
            self.counts[f"{folder_of(key)} collected"] += 1
            self._check_references()
        elif folder_of(key) == "vectors":
            self.vectors.see_shard(key.rpartition("/")[2].removesuffix(".vec"), new.body)

    def _watch_log(self, key: str, new: SimObject | None) -> None:
        if new is None:
            self.counts["log entries deleted"] += 1
        else:
            self.vectors.see_entry(key, new.body)

    def watch_read(self, actor: Actor, request: Request, result: object) -> None:
        """See the answer to a read: within the grace no segment in use may be missing."""
        if request.verb != "get":
            return
        if request.key == HEAD:
            actor.head_read_us = self.world.now_us
            actor.files_in_use = self._files_in_use()
        elif folder_of(request.key) in ("segments", "vectors") and result is None:
            age_ms = (self.world.now_us - actor.head_read_us) // 1_000
            is_within_grace = age_ms < TRASH_CROWDED_GRACE_MS - SKEW_US // 1_000
            # An erasure waits for nobody; whoever misses a file reads the manifest again.
            if is_within_grace and request.key in actor.files_in_use - self.erased_files:
                self.fail(f"{request.key} is gone {age_ms} ms after its manifest was read")

    def _watch_head(self, old: SimObject | None, new: SimObject | None) -> None:
        if new is None:
            return
        document = json.loads(new.body)
        if old is not None:
            self._check_succession(json.loads(old.body), document)
        if document["version"] != self.head_version + 1:
            self.fail(f"the manifest went from version {self.head_version} to {document['version']}")
        self.head_version = document["version"]
        if len(new.body) > 16 * 1024:
            self.fail(f"the manifest has {len(new.body)} bytes")
        self._check_references()

    def _check_succession(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """A swap keeps what others have committed: segments leave into the trash, and nowhere else."""
        kept = {item[0] for item in [*after["segments"], *after["trash"]]}
        lost = {item[0] for item in before["segments"]} - kept
        if lost:
            self.fail(f"a swap of the manifest loses the segments {sorted(lost)}")
        self.vectors.see_swap(before, after, self.world.now_us // 1_000)
        if len(after["vector_trash"]) > len(before["vector_trash"]):
            self.counts["vector merges committed"] += 1
        if len(after["trash"]) > len(before["trash"]):
            self.counts["merges and rebuilds committed"] += 1

    def _check_references(self) -> None:
        for key in self._files_in_use():
            if key not in self.world.objects:
                self.fail(f"the manifest names {key}, which does not exist")

    def _files_in_use(self) -> frozenset[str]:
        head = self.world.objects.get(HEAD)
        if head is None:
            return frozenset()
        manifest = json.loads(head.body)
        segments = [f"{ROOT}_index/segments/{row[0]}.seg" for row in manifest["segments"]]
        return frozenset(segments + [f"{ROOT}_index/vectors/{row[0]}.vec" for row in manifest["vectors"]])

    def _watch_truth(
        self, memory_id: str, verb: str, old: SimObject | None, new: SimObject | None, *, is_tombstone: bool
    ) -> None:
        live = self.live(memory_id)
        if len(live) > 1:
            self.fail(f"{memory_id} is live under two kinds")
        if not is_tombstone and verb == "put" and new is not None:
            self._watch_object(memory_id, old, new)
        rank = max([(version, 0) for version, _ in live] + [(self.tombstone_version(memory_id), 1)])
        history = self.history[memory_id]
        if rank < history[-1].rank:
            self.fail(f"the truth of {memory_id} falls from {history[-1].rank} to {rank}")
        mark = live[0][1] if live else None
        history.append(State(self.world.tick, rank, mark, frozenset(self.versions(memory_id))))

    def _watch_object(self, memory_id: str, old: SimObject | None, new: SimObject) -> None:
        document = json.loads(new.body)
        version, mark = document["version"], mark_of(document["content"])
        op = self.ops[mark]
        self.vectors.see_text(memory_id, document["content"])
        tombstone = self.tombstone_version(memory_id)
        is_live = version > tombstone
        op.landings.append(Landing(self.world.tick, version, is_live, _expiry_us(document)))
        if old is not None:
            before = json.loads(old.body)
            if version != before["version"] + 1:
                self.fail(f"{memory_id} went from version {before['version']} to {version}")
            if mark_of(before["content"]) == mark:
                self.fail(f"one call was applied to {memory_id} twice in a row")
            if not set(document["metadata"]) >= set(before["metadata"]) and op.what == "update":
                self.fail(f"an update of {memory_id} lost what an earlier one wrote")
            if not is_live:
                self.fail(f"an update of {memory_id} lands dead")
        is_refused = op.answer not in (None, "ack", "crash", "unknown_outcome")
        if is_refused and is_live:
            self.fail(f"{op.what} of {memory_id} was refused ({op.answer}) but takes effect")

    # --- erasures -----------------------------------------------------------------------------------------------------

    def erasable(self, memory_ids: Iterable[str]) -> dict[str, int]:
        """Return the highest version of each id that was ever written until now."""
        landed = {
            memory_id: [item.version for op in self.writes[memory_id] for item in op.landings]
            for memory_id in memory_ids
        }
        return {memory_id: max(versions) for memory_id, versions in landed.items() if versions}

    def check_erased(self, versions: Mapping[str, int]) -> None:
        """An erasure is finished: nothing may know these versions, neither an object nor an index in use."""
        head = self.world.objects.get(HEAD)
        manifest = json.loads(head.body) if head else {"segments": [], "vectors": []}
        for memory_id, last in versions.items():
            if any(version <= last for version in self.versions(memory_id)):
                self.fail(f"an object of {memory_id} is left by its erasure")
        for reference in manifest["segments"]:
            key = f"{ROOT}_index/segments/{reference[0]}.seg"
            segment = Segment.decode(self.world.objects[key].body, key)
            for memory_id, last in versions.items():
                position = segment.find(memory_id)
                if (
                    position is not None
                    and not segment.is_deleted[position]
                    and int(segment.ranks[position]) <= 2 * last
                ):
                    self.fail(f"a segment knows {memory_id} after its erasure")
        texts = [
            (op.memory_id or "", f"common {op.mark}")
            for memory_id in versions
            for op in self.writes[memory_id]
            if op.landings
        ]
        gone = [item for item in texts if item not in set(self._live_texts())]
        self.vectors.check_erased([reference[0] for reference in manifest["vectors"]], gone)

    # --- reads --------------------------------------------------------------------------------------------------------

    def check_read(self, op: Op, found: Iterable[Memory], ids: Iterable[str], *, is_strong: bool = True) -> None:
        """A read of ``ids`` returned ``found``."""
        self.end(op, "ack")
        got: Mapping[str, Memory] = {memory.id: memory for memory in found}
        for memory_id in ids:
            memory = got.get(memory_id)
            version = memory.version if memory else 0
            if is_strong:
                self._check_fresh(op, memory_id, version)
            if memory is not None:
                self._check_shown(op, memory)
            elif op.what == "get":
                states = self.states(memory_id, op.start_tick)
                if all(state.mark for state in states) and not self._may_be_expired(memory_id):
                    self.fail(f"get misses {memory_id}, which was live throughout")
        unknown = set(got) - set(ids)
        if unknown:
            self.fail(f"{op.what} shows ids that were never written: {sorted(unknown)}")

    def check_index(self, start_tick: int, live_ids: Iterable[str]) -> None:
        """A strong view of the index that began at ``start_tick`` holds rows of ``live_ids``.

        A memory whose forget was acknowledged before has none, unless a write might still bring its log entry.
        """
        for memory_id in live_ids:
            last_write = self._last_write(memory_id)
            if any(_is_acknowledged(forget, since=last_write, by=start_tick) for forget in self.forgets[memory_id]):
                self.fail(f"the index shows {memory_id}, which was forgotten")

    def _check_fresh(self, op: Op, memory_id: str, version: int) -> None:
        last_forget = max((forget.upto() for forget in self.forgets[memory_id]), default=-1.0)
        horizon_us = self.world.now_us + SKEW_US
        needed = [
            item.version
            for item in self.acked[memory_id]
            if item.acked_tick < op.start_tick and item.landed_tick > last_forget and item.expires_us > horizon_us
        ]
        if self._may_be_expired(memory_id):
            return
        if version < max(needed, default=0):
            self.fail(f"{op.what} shows {memory_id} at v{version}, acknowledged was v{max(needed)}")

    def _check_shown(self, op: Op, memory: Memory) -> None:
        memory_id, version = memory.id, memory.version
        # An eventual read does not look into the log, where a recent forget may still be.
        for forget in self.forgets[memory_id] if op.what != "eventual" else ():
            if _is_acknowledged(forget, since=-1.0, by=op.start_tick):
                if version <= forget.deletes_version:
                    self.fail(f"{op.what} shows {memory_id} v{version} after its forget was acknowledged")
                if self._last_write(memory_id) < forget.start_tick:
                    self.fail(f"{op.what} shows {memory_id}, which was forgotten")
        if memory.expires_at is not None and to_us(memory.expires_at) < op.start_us - SKEW_US:
            self.fail(f"{op.what} shows {memory_id}, which had expired")
        states = self.states(memory_id, op.start_tick)
        if not any(version in state.versions for state in states):
            self.fail(f"{op.what} shows {memory_id} v{version}, which did not exist during the call")
        if op.what == "get":
            mark = mark_of(memory.content)
            if not any(state.mark == mark and state.rank == (version, 0) for state in states):
                self.fail(f"get shows {memory_id} v{version}, dead throughout the call")
            if version < op.seen_before.get(memory_id, 0):
                self.fail(f"get shows {memory_id} v{version} after an earlier one showed a later version")
            self.seen[memory_id] = max(self.seen.get(memory_id, 0), version)

    # --- the truth ----------------------------------------------------------------------------------------------------

    def tombstone_version(self, memory_id: str) -> int:
        found = self.world.objects.get(f"{ROOT}_tombstones/{memory_id}.json")
        return json.loads(found.body)["deletes_version"] if found else 0

    def _objects(self, memory_id: str) -> list[dict[str, object]]:
        keys = [f"{ROOT}{kind}/{memory_id}.json" for kind in ("semantic", "episodic", "procedural")]
        return [json.loads(self.world.objects[key].body) for key in keys if key in self.world.objects]

    def versions(self, memory_id: str) -> list[int]:
        return [int(str(document["version"])) for document in self._objects(memory_id)]

    def _live_texts(self) -> Iterator[tuple[str, str]]:
        for memory_id in self.history:
            tombstone = self.tombstone_version(memory_id)
            for item in self._objects(memory_id):
                if int(str(item["version"])) > tombstone:
                    yield memory_id, str(item["content"])

    def live(self, memory_id: str) -> list[tuple[int, str]]:
        tombstone = self.tombstone_version(memory_id)
        objects = self._objects(memory_id)
        marked = [(int(str(item["version"])), mark_of(str(item["content"]))) for item in objects]
        return [(version, mark) for version, mark in marked if version > tombstone]

    def _may_be_expired(self, memory_id: str) -> bool:
        horizon_us = self.world.now_us + SKEW_US
        landings = [landing for op in self.writes[memory_id] for landing in op.landings]
        return any(landing.expires_us <= horizon_us for landing in landings)

    def _last_write(self, memory_id: str) -> float:
        """Return the last moment at which a write of an id may still change something."""
        return max((write.upto() for write in self.writes[memory_id]), default=-1.0)

    def states(self, memory_id: str, start_tick: int) -> list[State]:
        """Return every true state of an id from ``start_tick`` on."""
        found: list[State] = []
        for state in reversed(self.history[memory_id]):
            found.append(state)
            if state.tick < start_tick:
                break
        return found

    def fail(self, message: str) -> None:
        raise ViolationError(message)


def mark_of(content: str) -> str:
    """Return the mark of the call that wrote a content."""
    return content.rsplit(maxsplit=1)[-1]


def _expiry_us(document: Mapping[str, object]) -> float:
    value = document["expires_at"]
    return to_us(datetime.fromisoformat(str(value))) if value else math.inf


def _is_acknowledged(forget: Op, *, since: float, by: int) -> bool:
    """Return whether a forget began after ``since`` and was acknowledged before ``by``."""
    return forget.answer == "ack" and forget.start_tick > since and forget.end_tick is not None and forget.end_tick < by
