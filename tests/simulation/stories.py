"""Interleavings too rare for dice, played by hand; each goes wrong only with the mistake it is about."""

from collections.abc import Callable
from typing import Final

from s3_agent_memory.bootstrap import Parts
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.index.merge_policy import FAN_OUT
from s3_agent_memory.service.grace import LOG_GRACE_MS, ORPHAN_AGE_MS, TRASH_GRACE_MS
from s3_agent_memory.service.upkeep.housekeeper import Folding
from tests.simulation.callers import actor_of
from tests.simulation.oracle import Op
from tests.simulation.simulation import MODEL, Simulation
from tests.simulation.world import SECOND_US, folder_of

STEPS_MAX = 2_000
READER_COUNT = 8
CREATE_COUNT_MAX = 100


class Stage:
    """A simulation without dice: calls go on exactly as far as they are told to."""

    def __init__(self) -> None:
        self.simulation = Simulation(1)
        self.world = self.simulation.world
        self.world.has_faults = False
        self.simulation.callers.ttl_chance = 0.0
        self.simulation.callers.create_count_max = CREATE_COUNT_MAX

    def instance(self, model: str | None = None) -> Parts:
        """Return a process with an embedder of this model, or none, whose writers leave folding to others."""
        return self.simulation.instance(model, folding=Folding.INLINE)

    def start(self, what: str, parts: Parts, **fixed: object) -> Op:
        return self.simulation.callers.start(what, parts, **fixed)

    def go(self, op: Op, verb: str = "", folder: str = "") -> Op:
        """Let a call run until its next request is ``verb`` on ``folder`` (not sent yet), or to its end."""
        actor = actor_of(op)
        for _ in range(STEPS_MAX):
            if actor not in self.world.actors:
                return op
            request = actor.request
            if request is not None and request.verb == verb and folder_of(request.key) == folder:
                return op
            self.world.now_us = max(self.world.now_us + SECOND_US // 100, actor.wake_us)
            self.world.step(actor)
        raise RuntimeError("the call does not end")

    def step(self, op: Op) -> None:
        """Let a call's next request be answered."""
        self.world.step(actor_of(op))

    def run(self, parts: Parts, *calls: str) -> None:
        """Make calls one after the other, each to its end."""
        for what in calls:
            self.go(self.start(what, parts))

    def wait(self, milliseconds: int) -> None:
        self.world.now_us += milliseconds * 1_000


def a_fold_sleeps_while_its_upload_is_collected() -> None:
    """A laptop closes between reading the manifest and swapping it; a day later the collector comes by."""
    stage = Stage()
    here, elsewhere = stage.instance(), stage.instance()
    stage.go(stage.start("create", here))
    stage.go(stage.start("tidy", here))
    stage.go(stage.start("create", here))
    sleeper = stage.go(stage.start("tidy", here), "put", "HEAD")
    stage.wait(2 * ORPHAN_AGE_MS)
    stage.go(stage.start("collect", elsewhere))
    stage.go(sleeper)
    stage.go(stage.start("recall", elsewhere))


def a_fold_sleeps_behind_its_upload() -> None:
    """A laptop closes between the upload and the manifest; a day later it reads the manifest of then."""
    stage = Stage()
    here, elsewhere = stage.instance(), stage.instance()
    stage.run(elsewhere, "create", "tidy", "create")
    sleeper = stage.go(stage.start("tidy", here), "put", "segments")
    stage.step(sleeper)
    stage.wait(2 * ORPHAN_AGE_MS)
    stage.run(elsewhere, "collect")
    stage.go(sleeper)
    stage.run(elsewhere, "recall")


def a_swap_without_an_answer_is_repeated_much_later() -> None:
    """The swap happened, the answer was lost; the segment is merged away and collected before the writer looks."""
    stage = Stage()
    here, elsewhere = stage.instance(), stage.instance()
    stage.go(stage.start("create", here))
    sleeper = stage.go(stage.start("tidy", here), "put", "HEAD")
    stage.world.lose_next_answer = True
    stage.step(sleeper)
    stage.go(stage.start("reindex", elsewhere))
    stage.wait(2 * TRASH_GRACE_MS)
    stage.go(stage.start("sweep", elsewhere))
    stage.wait(2 * TRASH_GRACE_MS)
    stage.go(stage.start("collect", elsewhere))
    stage.go(sleeper)
    stage.go(stage.start("recall", elsewhere))


def a_fold_stalls_between_its_upload_and_its_swap() -> None:
    """Readers that have the manifest of before meet a log that was cleaned up behind the one of after.

    The stall is longer than the grace of log entries, so a stamp of before the swap is over the moment it can be seen.
    """
    stage = Stage()
    here, elsewhere = stage.instance(), stage.instance()
    stage.run(here, "create", "tidy", "create")
    sleeper = stage.go(stage.start("tidy", here), "put", "HEAD")
    stage.wait(2 * LOG_GRACE_MS)
    readers = _readers_before_the_log(stage)
    stage.go(sleeper)
    stage.run(elsewhere, "tidy")
    for reader in readers:
        stage.go(reader)


def a_log_is_folded_and_cleaned_up_while_readers_read() -> None:
    """They have the manifest of before the fold, and ask for the log seconds later."""
    stage = Stage()
    here, elsewhere = stage.instance(), stage.instance()
    stage.run(here, "create", "tidy", "create")
    readers = _readers_before_the_log(stage)
    stage.run(elsewhere, "tidy", "tidy", "tidy")
    for reader in readers:
        stage.go(reader)


def _readers_before_the_log(stage: Stage) -> list[Op]:
    """Start readers of as many processes; each asks for log and manifest at once, and some get the manifest first."""
    instances = [stage.instance() for _ in range(READER_COUNT)]
    return [stage.go(stage.start("recall", instance), "list", "log") for instance in instances]


def a_fold_stalls_while_what_it_read_is_forgotten() -> None:
    """The deletion is folded and merged meanwhile; the row of the living memory comes last and must not count."""
    stage = Stage()
    here, elsewhere = stage.instance(), stage.instance()
    stage.go(stage.start("remember", elsewhere, memory_id="id-0"))
    stage.run(elsewhere, "tidy")
    stage.go(stage.start("update", elsewhere, memory_id="id-0"))
    sleeper = stage.go(stage.start("tidy", here), "put", "HEAD")
    stage.go(stage.start("forget", elsewhere, memory_id="id-0"))
    for _ in range(FAN_OUT):
        stage.run(elsewhere, "tidy", "create")
    stage.wait(2 * LOG_GRACE_MS)
    stage.run(elsewhere, "tidy", "compact")
    stage.go(sleeper)
    stage.run(elsewhere, "recall")


def a_memory_is_written_while_a_sweep_looks_around() -> None:
    """The sweep has folded the log; the new entry is in what it compares with, and nowhere else in the index."""
    stage = Stage()
    here, elsewhere = stage.instance(), stage.instance()
    stage.go(stage.start("remember", elsewhere, memory_id="id-0"))
    stage.go(stage.start("forget", elsewhere, memory_id="id-0"))
    # An id with both object and tombstone is always repaired.
    stage.go(stage.start("remember", elsewhere, memory_id="id-0", resurrect=True))
    stage.run(elsewhere, "tidy", "tidy")
    sweep = stage.go(stage.start("sweep", here), "list", "log")
    stage.step(sweep)
    stage.go(sweep, "list", "log")
    stage.run(elsewhere, "create")
    stage.go(sweep)
    stage.run(elsewhere, "recall")


def a_merge_stalls_until_its_trash_would_be_old() -> None:
    """A reader reads the manifest just before the swap lands, and asks for its segment just after."""
    stage = Stage()
    here, elsewhere, reading = stage.instance(), stage.instance(), stage.instance()
    for _ in range(FAN_OUT):
        stage.run(elsewhere, "create", "tidy")
    # A segment that names log entries is not merged until they are gone.
    stage.wait(2 * LOG_GRACE_MS)
    stage.run(elsewhere, "create", "tidy")
    stage.wait(2 * LOG_GRACE_MS)
    stage.run(elsewhere, "create")
    merging = stage.go(stage.start("tidy", here), "put", "HEAD")
    stage.step(merging)
    sleeper = stage.go(merging, "put", "HEAD")
    stage.wait(2 * TRASH_GRACE_MS)
    reader = stage.go(stage.start("recall", reading), "get", "segments")
    stage.go(sleeper)
    # The first collection deals with what merges of before left, if any.
    stage.run(elsewhere, "collect", "collect")
    stage.go(reader)


def a_memory_is_erased_that_a_segment_holds() -> None:
    """The segment is in use and stays so for the memories beside it."""
    stage = Stage()
    here, elsewhere, oracle = stage.instance(), stage.instance(), stage.simulation.oracle
    stage.go(stage.start("remember", here, memory_id="id-0", kind=Kind.SEMANTIC, resurrect=False))
    stage.run(here, "create", "tidy")
    versions = oracle.erasable(["id-0"])
    stage.go(stage.start("erase", elsewhere, ids=["id-0"]))
    oracle.check_erased(versions)


def a_fold_sleeps_through_an_erasure() -> None:
    """It has read a memory that is erased before it uploads what it read."""
    stage = Stage()
    here, elsewhere, oracle = stage.instance(), stage.instance(), stage.simulation.oracle
    stage.go(stage.start("remember", here, memory_id="id-0", kind=Kind.SEMANTIC, resurrect=False))
    sleeper = stage.go(stage.start("tidy", here), "put", "segments")
    versions = oracle.erasable(["id-0"])
    stage.go(stage.start("erase", elsewhere, ids=["id-0"]))
    stage.go(sleeper)
    oracle.check_erased(versions)


def two_forget_different_versions() -> None:
    """The one that saw the earlier version writes its tombstone last."""
    stage = Stage()
    here, elsewhere = stage.instance(), stage.instance()
    stage.go(stage.start("remember", elsewhere, memory_id="id-0"))
    slow = stage.go(stage.start("forget", here, memory_id="id-0"), "put", "_tombstones")
    stage.go(stage.start("update", elsewhere, memory_id="id-0"))
    stage.go(stage.start("forget", elsewhere, memory_id="id-0"))
    stage.go(slow)


def an_embedder_sleeps_while_its_upload_is_collected() -> None:
    """It has written its shard and read the manifest; a day later the collector comes by."""
    stage = Stage()
    here, elsewhere = stage.instance(MODEL), stage.instance()
    stage.run(elsewhere, "create", "tidy")
    sleeper = stage.go(stage.start("embed_all", here), "put", "HEAD")
    stage.wait(2 * ORPHAN_AGE_MS)
    stage.run(elsewhere, "collect")
    stage.go(sleeper)
    stage.run(here, "recall")


STORIES: Final[dict[str, Callable[[], None]]] = {
    "erasure_purges_no_index": a_memory_is_erased_that_a_segment_holds,
    "erasure_without_a_fence": a_fold_sleeps_through_an_erasure,
    "no_log_grace": a_log_is_folded_and_cleaned_up_while_readers_read,
    "stamp_inside_the_fold": a_fold_stalls_between_its_upload_and_its_swap,
    "stamp_inside_the_swap": a_merge_stalls_until_its_trash_would_be_old,
    "old_uploads_committed": a_fold_sleeps_behind_its_upload,
    "no_fence_before_orphans": a_fold_sleeps_while_its_upload_is_collected,
    "swaps_doubted_for_ever": a_swap_without_an_answer_is_repeated_much_later,
    "drop_deletion_rows_early": a_fold_stalls_while_what_it_read_is_forgotten,
    "repair_takes_in_the_log": a_memory_is_written_while_a_sweep_looks_around,
    "tombstone_falls": two_forget_different_versions,
    "old_vectors_committed": an_embedder_sleeps_while_its_upload_is_collected,
}
"""Which story shows each mutation."""
