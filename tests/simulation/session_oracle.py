"""What must hold of a session at every step; the oracle sees every effect on the bucket.

Every turn that landed is in exactly one place: the window, its pending batch, a batch of this epoch, or it was digested
in an epoch before, or erased. Turns carry marks that occur nowhere else, so every object can be asked for them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass

from s3_agent_memory import names
from s3_agent_memory.domain.scopes import Contributor, Scope
from s3_agent_memory.domain.session_codec import Digest, decode_batch, decode_digest, decode_facts, decode_window
from s3_agent_memory.domain.session_keys import (
    Session,
    SessionKey,
    digest_key,
    parse_derived_id,
    parse_session_key,
    window_key,
)
from s3_agent_memory.domain.tiers import TierSettings
from s3_agent_memory.domain.turns import Turn, token_count_of
from s3_agent_memory.domain.window import APPLIED_COUNT_MAX, Window
from tests.simulation.world import SimObject, ViolationError, World

MARK = re.compile(r"T\d+\.\d+\.\d+x")
ERASED, ARCHIVED, PRESENT = "erased", "archived", "present"


def marks_of(text: str) -> list[str]:
    return MARK.findall(text)


def order_of(mark: str) -> tuple[int, int]:
    """Return when its writer wrote a turn, among all of that writer's turns."""
    _, write, position = mark.strip("Tx").split(".")
    return int(write), int(position)


@dataclass
class Landed:
    """A turn that was stored: whose it is, when, and what became of it."""

    contributor: Contributor
    tick: int
    state: str = PRESENT


class SessionOracle:
    """Keeps the truth of one session and raises ``ViolationError`` when a promise breaks.

    Attributes:
        landed: every turn that ever was in the window, by its mark.
        refused: turns whose write was answered with "certainly not stored".
        banned: turns that an acknowledged erasure removed.
    """

    def __init__(self, world: World, session: Session, settings: TierSettings) -> None:
        self.world = world
        self.session = session
        self.settings = settings
        self.window = Window()
        self.landed: dict[str, Landed] = {}
        self.refused: set[str] = set()
        self.banned: set[str] = set()
        self.events: list[str] = []
        self.batches: dict[tuple[int, int], tuple[Turn, ...]] = {}
        self.digests: dict[tuple[int, int], Digest] = {}
        self.facts: dict[tuple[int, int], list[str]] = {}
        self.counts: Counter[str] = Counter()

    # --- effects ------------------------------------------------------------------------------------------------------

    def watch(self, _verb: str, key: str, old: SimObject | None, new: SimObject | None) -> None:
        """See one effect on the bucket."""
        found = parse_session_key(key)
        if key == window_key(self.session):
            self._watch_window(decode_window(self._body(new), key))
        elif found is not None:
            self._watch_part(found, old, new)
        elif f"{names.KIND_FOLDERS[1]}/turns-" in key and new is not None:
            self._watch_memory(key, new)
        self._check_banned(key, new)

    def _body(self, item: SimObject | None) -> bytes:
        if item is None:
            raise ViolationError("the window was deleted")
        return item.body

    def _watch_window(self, window: Window) -> None:
        before, self.window = self.window, window
        if window.epoch == before.epoch:
            self._check_growth(before, window)
        else:
            self._check_erasure(before, window)
        self.counts["batches digested"] += window.done > before.done
        self._check_window(window)
        self._check_digests(window)

    def _watch_part(self, key: SessionKey, old: SimObject | None, new: SimObject | None) -> None:
        place = (key.epoch, key.number)
        if new is None:
            is_needed = key.suffix == names.TURNS_SUFFIX and key.epoch == self.window.epoch
            if is_needed and key.number > self.window.done:
                raise ViolationError(f"batch {place} deleted before it was digested")
            return
        if old is not None:
            raise ViolationError(f"{key.path} was overwritten")
        if key.suffix == names.TURNS_SUFFIX:
            self.events.append(key.path)
            turns = decode_batch(new.body, key.path).turns
            if self.batches.setdefault(place, turns) != turns:
                raise ViolationError(f"batch {place} has two contents")
        elif key.suffix == names.DIGEST_SUFFIX:
            self.digests.setdefault(place, decode_digest(new.body, key.path))
        else:
            contents = [fact.memory.content for fact in decode_facts(new.body, key.path)]
            self.facts.setdefault(place, contents)

    def _watch_memory(self, key: str, new: SimObject) -> None:
        place = parse_derived_id(key.rpartition("/")[2].removesuffix(".json"))
        if place is None:
            raise ViolationError(f"{key} is no derived id")
        epoch, number, position = place
        facts = self.facts.get((epoch, number), [])
        if position >= len(facts) or json.loads(new.body)["content"] != facts[position]:
            raise ViolationError(f"{key} is not in the extraction that counts")

    # --- invariants ---------------------------------------------------------------------------------------------------

    def sequence(self, window: Window) -> list[Turn]:
        """Return every turn of the window's epoch: batches, the pending one, and the window."""
        turns: list[Turn] = []
        for number in range(1, window.next_batch):
            if window.pending is not None and window.pending.number == number:
                content = window.pending.turns
                if self.batches.get((window.epoch, number), content) != content:
                    raise ViolationError(f"batch {number} differs from what is pending")
            elif (window.epoch, number) in self.batches:
                content = self.batches[window.epoch, number]
            else:
                raise ViolationError(f"gap: batch {number} has no object and is not pending")
            turns += content
        return [*turns, *window.turns]

    def _check_growth(self, before: Window, window: Window) -> None:
        old, new = self.sequence(before), self.sequence(window)
        if new[: len(old)] != old:
            raise ViolationError("a swap of the window changed turns that were there")
        self._land(new[len(old) :])

    def _land(self, turns: list[Turn]) -> None:
        for turn in turns:
            (mark,) = marks_of(turn.content)
            if mark in self.landed:
                raise ViolationError(f"{mark} is stored twice; it was {self.landed[mark].state}")
            if mark in self.refused:
                raise ViolationError(f"{mark} is stored although its writer was told that it is not")
            self.landed[mark] = Landed(turn.contributor, self.world.tick)

    def _check_erasure(self, before: Window, window: Window) -> None:
        """What an erasure concerns is gone; of the rest, what was digested stays as it is and all else comes along."""
        self.counts["erasures"] += 1
        scope = window.erasures[-1].scope
        kept: list[Turn] = []
        for item in self.landed.values():
            if item.state == ARCHIVED and scope.covers(item.contributor):
                item.state = ERASED
        for number in range(1, before.next_batch):
            is_pending = before.pending is not None and before.pending.number == number
            turns = before.pending.turns if is_pending and before.pending else self.batches[before.epoch, number]
            kept += self._fate(turns, scope, is_digested=number <= before.done)
        kept += self._fate(before.turns, scope, is_digested=False)
        if self.sequence(window) != kept:
            raise ViolationError("an erasure kept other turns than those that are neither concerned nor digested")
        self.counts["partial erasures"] += bool(kept)

    def _fate(self, turns: tuple[Turn, ...], scope: Scope, *, is_digested: bool) -> list[Turn]:
        kept = []
        for turn in turns:
            landed = self.landed[marks_of(turn.content)[0]]
            if scope.covers(turn.contributor):
                landed.state = ERASED
            elif is_digested:
                landed.state = ARCHIVED
            else:
                kept.append(turn)
        return kept

    def _check_window(self, window: Window) -> None:
        marks = [mark for turn in self.sequence(window) for mark in marks_of(turn.content)]
        if len(set(marks)) != len(marks):
            raise ViolationError("a turn is there twice")
        last: dict[str, tuple[int, int]] = {}
        for mark in marks:
            writer = mark.partition(".")[0]
            if order_of(mark) <= last.get(writer, (0, -1)):
                raise ViolationError(f"turns of {writer} are out of order")
            last[writer] = order_of(mark)
        lost = {mark for mark, item in self.landed.items() if item.state == PRESENT} - set(marks)
        if lost:
            raise ViolationError(f"lost: {sorted(lost)}")
        if token_count_of(window.turns) > self.settings.marks.high_tokens and len(window.turns) > 1:
            raise ViolationError("the window is over its mark")
        if len(window.applied) > APPLIED_COUNT_MAX:
            raise ViolationError("the window remembers too many writes")

    def _check_digests(self, window: Window) -> None:
        folded: list[str] = []
        previous: Digest | None = None
        for number in range(1, window.done + 1):
            folded += [mark for turn in self.batches[window.epoch, number] for mark in marks_of(turn.content)]
            digest = self.digests.get((window.epoch, number))
            if digest is None:
                raise ViolationError(f"batch {number} is done without a digest")
            if marks_of(digest.text) != folded:
                raise ViolationError(f"digest {number} does not fold the batches up to it once each, in order")
            if digest.previous != (previous.nonce if previous else None):
                raise ViolationError(f"digest {number} stands on a digest that lost")
            previous = digest
        if previous is not None and window.head != previous.nonce:
            raise ViolationError("the head is not the digest that won")
        for number in range(max(1, window.done - self.settings.digest_retention + 1), window.done + 1):
            item = self.world.objects.get(digest_key(self.session, window.epoch, number))
            if item is None or decode_digest(item.body, "") != self.digests[window.epoch, number]:
                raise ViolationError(f"digest {number} is missing or changed within its retention")
        self._check_memories(window)

    def _check_memories(self, window: Window) -> None:
        """Of what is done, every memory exists, or somebody removed it."""
        for number in range(1, window.done + 1):
            for position in range(len(self.facts.get((window.epoch, number), []))):
                memory_id = f"turns-{self.session.name}-{window.epoch}-{number}-{position}"
                if self.memory(memory_id) is None and not self.is_forgotten(memory_id):
                    raise ViolationError(f"batch {number} is done without memory {position}")

    def memory(self, memory_id: str) -> SimObject | None:
        return self.world.objects.get(f"memory/sim/ns/episodic/{memory_id}.json")

    def is_forgotten(self, memory_id: str) -> bool:
        return f"memory/sim/ns/_tombstones/{memory_id}.json" in self.world.objects

    def live_marks(self) -> Counter[str]:
        """Return the marks of all live memories of the session."""
        prefix = f"memory/sim/ns/episodic/turns-{self.session.name}-"
        found: Counter[str] = Counter()
        for key, item in self.world.objects.items():
            if key.startswith(prefix) and not self.is_forgotten(key.rpartition("/")[2].removesuffix(".json")):
                found.update(marks_of(json.loads(item.body)["content"]))
        return found

    def _check_banned(self, key: str, new: SimObject | None) -> None:
        if not self.banned or new is None:
            return
        is_visible = key == window_key(self.session) or "/episodic/turns-" in key
        if "/episodic/turns-" in key:
            is_visible = not self.is_forgotten(key.rpartition("/")[2].removesuffix(".json"))
        back = self.banned.intersection(marks_of(new.body.decode())) if is_visible else set()
        if back:
            raise ViolationError(f"visible after an acknowledged erasure: {sorted(back)}")

    # --- the end ------------------------------------------------------------------------------------------------------

    def check_quiet(self) -> None:
        """Everything is digested, nothing that was erased is anywhere, and every other turn became one memory."""
        window = self.window
        if window.pending is not None or window.first_undigested != window.next_batch or window.erasures:
            raise ViolationError("a quiet session has something left to do")
        live = self.live_marks()
        doubled = [mark for mark, count in live.items() if count > 1]
        if doubled:
            raise ViolationError(f"memories are doubled: {doubled}")
        in_window = {mark for turn in window.turns for mark in marks_of(turn.content)}
        for mark, item in self.landed.items():
            if item.state != ERASED and (mark in live) == (mark in in_window):
                raise ViolationError(f"{mark} is {item.state} and must be in the window or a memory, not in both")
        erased = {mark for mark, item in self.landed.items() if item.state == ERASED}
        for key, stored in self.world.objects.items():
            if erased.intersection(marks_of(stored.body.decode(errors="replace"))):
                raise ViolationError(f"{key} still holds what was erased")
        stale = [key for key in self.world.objects if self._is_stale(key)]
        if stale:
            raise ViolationError(f"objects remain that nobody needs: {stale[:3]}")

    def _is_stale(self, key: str) -> bool:
        found = parse_session_key(key)
        if found is None:
            return False
        kept = self.settings.digest_retention if found.suffix == names.DIGEST_SUFFIX else 0
        return found.epoch != self.window.epoch or found.number <= self.window.done - kept
