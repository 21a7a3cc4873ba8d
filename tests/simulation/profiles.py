"""What kind of day a seed simulates: who is busy, how often things go wrong, how fast time goes."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from tests.simulation.world import Chances

OBJECT_FOLDERS = ("semantic", "episodic", "_tombstones", "_ids")
INDEX_FOLDERS = ("log", "segments", "vectors", "HEAD")
OBJECT_POINTS = tuple((verb, folder) for verb in ("put", "get", "delete") for folder in OBJECT_FOLDERS)
INDEX_POINTS = (
    *((verb, folder) for verb in ("put", "get") for folder in INDEX_FOLDERS),
    ("delete", "log"),
    ("delete", "segments"),
    ("delete", "vectors"),
    ("list", "log"),
    ("list", "segments"),
)


@dataclass(frozen=True)
class Profile:
    """One kind of day.

    Attributes:
        weights: how often each call is made.
        chances: how often things go wrong.
        actor_count_max: calls under way at once.
        turn_count: turns of the scheduler.
        turn_seconds: how far time goes in one turn, one of these.
        id_count: ids that callers choose among.
        create_count_max: how many more the product makes.
    """

    name: str
    weights: dict[str, float]
    chances: Chances
    actor_count_max: int
    turn_count: int
    turn_seconds: tuple[float, ...]
    id_count: int
    create_count_max: int


def draw(rng: random.Random) -> Profile:
    """Draw the profile of a seed."""
    return rng.choice([_objects, _objects, _index, _index, _sparse, _cleaning])(rng)


def _objects(rng: random.Random) -> Profile:
    """Many callers contend for few ids."""
    weights = {
        "remember": rng.choice([2, 4, 6]),
        "create": 0.6,
        "update": rng.choice([1, 3]),
        "forget": rng.choice([0.7, 2, 4]),
        "import": rng.choice([0.4, 2]),
        "follow": 0.5,
        "get": 2,
        "recall": 2,
        "eventual": 0.6,
        "list": 0.8,
        "index": rng.choice([0, 2, 4, 8]),
        "compact": rng.choice([0.3, 1.5]),
        "embed": rng.choice([0.3, 1]),
        "tend": 0.3,
        "collect": 0.4,
        "sweep": 0.4,
        "prune": 0.3,
        "erase": rng.choice([0, 0.2, 0.6]),
        "resume": 0.1,
        "reindex": rng.choice([0, 0.1]),
    }
    return Profile(
        "objects",
        weights,
        _chances(rng, (*OBJECT_POINTS, *INDEX_POINTS)),
        rng.choice([4, 7, 10]),
        rng.choice([250, 400, 700]),
        (0.01, 0.05, 0.1),
        rng.choice([1, 1, 2, 3]),
        2,
    )


def _index(rng: random.Random) -> Profile:
    """Folds, merges and collections overlap all the time, while readers read."""
    weights = {
        "create": 3,
        "remember": 3,
        "update": 5,
        "forget": rng.choice([0.3, 1.5]),
        "import": rng.choice([0, 1]),
        "recall": 5,
        "follow": rng.choice([0, 1, 3]),
        "get": 0.3,
        "index": rng.choice([4, 8]),
        "compact": rng.choice([2, 4]),
        "embed": rng.choice([1, 3]),
        "tend": rng.choice([0.5, 2]),
        "collect": rng.choice([1, 3]),
        "sweep": 1,
        "erase": rng.choice([0, 0, 0.3]),
        "resume": 0.1,
        "reindex": rng.choice([0, 0.2]),
    }
    # In calm time readers meet many folds; when time jumps, graces end in the middle of things.
    jump, jump_seconds = rng.choice(
        [
            (0.004, (30, 70, 70, 100, 200, 4_000)),
            (0.012, (30, 70, 70, 100, 200, 4_000)),
            (0.04, (1, 5, 30, 70, 70, 100, 200, 4_000)),
        ]
    )
    return Profile(
        "index",
        weights,
        replace(
            _chances(rng, INDEX_POINTS),
            slow_verbs=frozenset(rng.choice([rng.sample(INDEX_POINTS, rng.choice([0, 1, 3])), [("list", "log")]])),
            stall=rng.choice([0.003, 0.01]),
            stall_seconds=(1, 10, 25, 70, 300, 800, 5_000),
            crash=rng.choice([0.001, 0.004]),
            jump=jump,
            jump_seconds=jump_seconds,
            slow_seconds=(0.5, 3, 6, 10, 20, 150, 700),
        ),
        rng.choice([10, 14]),
        rng.choice([700, 1_200]),
        (0.002, 0.01, 0.02),
        2,
        6,
    )


def _sparse(rng: random.Random) -> Profile:
    """A laptop that sleeps: few calls, long pauses in the middle of them."""
    weights = {
        "create": 1,
        "remember": 2,
        "forget": 1,
        "recall": 1,
        "follow": 1,
        "index": 4,
        "compact": 2,
        "embed": 2,
        "tend": 1,
        "collect": 3,
        "sweep": 0.5,
    }
    chances = Chances(
        fault=rng.choice([0.003, 0.02]),
        stall=rng.choice([0.05, 0.15]),
        crash=0.003,
        jump=rng.choice([0.03, 0.1]),
        slow_verbs=frozenset(rng.sample(INDEX_POINTS, 2)),
        slow=0.5,
    )
    return Profile("sparse", weights, chances, rng.choice([2, 3, 4]), 400, (0.01, 0.1), 2, 4)


def _cleaning(rng: random.Random) -> Profile:
    """Nobody but writers looks after the log, one now and then: it is cleaned up while swaps and readers sleep."""
    weights = {
        "create": 4,
        "remember": 2,
        "forget": rng.choice([0.5, 2]),
        "recall": 6,
        "follow": 1,
        "tidy": rng.choice([1, 2]),
        "sweep": rng.choice([0.1, 1]),
    }
    chances = Chances(
        fault=0.003,
        stall=0.005,
        stall_seconds=(10, 70, 130, 300),
        crash=0.002,
        jump=rng.choice([0.02, 0.05]),
        jump_seconds=(1, 5, 20),
        slow_verbs=frozenset([("put", "HEAD"), ("list", "log")]),
        slow=rng.choice([0.2, 0.4]),
        slow_seconds=(5, 10, 20, 70, 130, 300),
    )
    return Profile("cleaning", weights, chances, rng.choice([5, 8]), 500, (0.05, 0.2, 0.5), 2, 40)


def _chances(rng: random.Random, points: tuple[tuple[str, str], ...]) -> Chances:
    return Chances(
        fault=rng.choice([0.003, 0.01, 0.02]),
        stall=rng.choice([0.01, 0.03, 0.06]),
        crash=rng.choice([0.002, 0.006, 0.012]),
        jump=rng.choice([0.01, 0.03]),
        slow_verbs=frozenset(rng.sample(points, rng.choice([0, 1, 2, 3]))),
        slow=rng.choice([0.2, 0.5]),
    )
