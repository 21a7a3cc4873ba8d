"""Writes of every kind, each with what is there before and after it."""

from collections.abc import Callable
from dataclasses import dataclass

from s3_agent_memory.bootstrap import MemoryStore
from tests.fakes.clock import MINUTE
from tests.unit.service.worlds import NAMESPACE, World

ID = "units"


@dataclass(frozen=True)
class Scenario:
    """A write, what prepares it, and the contents before and after."""

    name: str
    prepare: Callable[[World], object]
    write: Callable[[MemoryStore], object]
    before: tuple[str, ...]
    after: tuple[str, ...]

    def __str__(self) -> str:
        return self.name

    def world(self) -> World:
        """Return a world in which the write may happen."""
        world = World()
        self.prepare(world)
        world.store.forget_requests()
        return world

    def request_count(self) -> int:
        """Return how many requests the write takes when nothing goes wrong."""
        world = self.world()
        self.write(world.memories)
        return len(world.store.requests)


def nothing(_: World) -> None:
    """Prepare nothing."""


def remembered(world: World) -> None:
    world.memories.remember(NAMESPACE, "old", id=ID)


def remembered_for_a_minute(world: World) -> None:
    world.memories.remember(NAMESPACE, "old", id=ID, ttl=MINUTE)


def expired(world: World) -> None:
    remembered_for_a_minute(world)
    world.clock.advance(MINUTE)


def forgotten(world: World) -> None:
    remembered(world)
    world.memories.forget(NAMESPACE, ID)


def forgotten_but_not_logged(world: World) -> None:
    """Let a forget die just before its log entry."""
    remembered(world)
    die_at_request(world, verb="put", key="/_index/log/")
    try_to_die(lambda: world.memories.forget(NAMESPACE, ID))


class Death(BaseException):
    """The process is gone; nothing in it may go on."""


def _die() -> None:
    raise Death


def die_at_request(world: World, *, at: int | None = None, verb: str = "", key: str = "") -> None:
    """Let the process under test die just before a request."""
    world.store.run_before(_die, at=at, verb=verb, key=key)


def try_to_die(action: Callable[[], object]) -> bool:
    """Do something in the process under test; return False if it died of it."""
    try:
        action()
    except Death:
        return False
    return True


CREATE = Scenario("create", nothing, lambda memories: memories.remember(NAMESPACE, "new"), (), ("new",))
REMEMBER_AS = Scenario(
    "remember under an id", nothing, lambda memories: memories.remember(NAMESPACE, "new", id=ID), (), ("new",)
)
RESURRECT = Scenario(
    "resurrect",
    forgotten,
    lambda memories: memories.remember(NAMESPACE, "new", id=ID, resurrect=True),
    (),
    ("new",),
)
RESURRECT_EXPIRED = Scenario(
    "resurrect what has expired",
    expired,
    lambda memories: memories.remember(NAMESPACE, "new", id=ID, resurrect=True),
    (),
    ("new",),
)
UPDATE = Scenario(
    "update", remembered, lambda memories: memories.update(NAMESPACE, ID, content="new"), ("old",), ("new",)
)
UPDATE_EXPECTED = Scenario(
    "update of an expected version",
    remembered,
    lambda memories: memories.update(NAMESPACE, ID, content="new", expected_version=1),
    ("old",),
    ("new",),
)
FORGET = Scenario("forget", remembered, lambda memories: memories.forget(NAMESPACE, ID), ("old",), ())
FORGET_AGAIN = Scenario(
    "forget after a forget that died", forgotten_but_not_logged, lambda memories: memories.forget(NAMESPACE, ID), (), ()
)
PRUNE = Scenario("prune", expired, lambda memories: memories.prune_expired(NAMESPACE), (), ())

WRITES = (CREATE, REMEMBER_AS, RESURRECT, RESURRECT_EXPIRED, UPDATE, UPDATE_EXPECTED, FORGET, FORGET_AGAIN, PRUNE)
