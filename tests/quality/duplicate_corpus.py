"""A corpus with planted duplicates, and with memories that only look like duplicates; the same one for a seed.

Each fact is a template with its own people, things and numbers. Some facts are told once, some several times: word for
word, in other case and punctuation, or reworded. Beside many of them lies a twin: nearly the same words, another fact.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random

PEOPLE = (
    "Alice Bob Carol Dave Erin Frank Grace Heidi Ivan Judy Kevin Lena Mallory Nina Oscar Peggy Quentin Rupert Sybil "
    "Trent Ursula Victor Wendy Xavier Yvonne Zach Amara Bjorn Chiara Dmitri Elif Farid Greta Hugo Ines Jonas"
).split()
PLACES = "Rome Oslo Lima Cairo Osaka Porto Dublin Quito Hanoi Turin Bergen Austin Nairobi Lyon Gdansk Split".split()
THINGS = "chess sushi jazz pottery tennis opera ramen sailing karate salsa yoga poker cricket cheese curry judo".split()
FIRMS = "Acme Globex Initech Umbra Hooli Vandelay Stark Wonka Cyberdyne Soylent Tyrell Wayne".split()
MONTHS = "January February March April May June July August September October November December".split()


class How(StrEnum):
    """How a duplicate differs from the fact's first telling."""

    EXACT = "exact"
    CASE = "case"
    REWORDED = "reworded"


@dataclass(frozen=True, slots=True)
class Template:
    """A fact's tellings, which say the same, and what is nearly told in the same words but is another fact."""

    tellings: tuple[str, ...]
    twins: tuple[str, ...]


TEMPLATES = (
    Template(("{a} paid {b} {n} dollars", "{b} was paid {n} dollars by {a}"), ("{b} paid {a} {n} dollars",)),
    Template(("{a} doesn't like {t}", "{a} does not like {t}", "{a} dislikes {t}"), ("{a} likes {t}",)),
    Template(("{a} lives in {p}", "{a} resides in {p}"), ("{a} lived in {p}", "{a} lives near {p}")),
    Template(("{a} purchased a car in {p}", "{a} bought an automobile in {p}"), ("{a} sold a car in {p}",)),
    Template(("{a} moved from {p} to {q}", "{a} relocated from {p} to {q}"), ("{a} moved from {q} to {p}",)),
    Template(("{a} has {n} children", "{a} has {n} kids"), ("{a} has {m} children", "{a} wants {n} children")),
    Template(("{a}'s favorite hobby is {t}", "{t} is {a}'s favourite pastime"), ("{b}'s favorite hobby is {t}",)),
    Template(("{a} works for {f}", "{a} is employed by {f}"), ("{a} worked for {f}", "{a} works with {f}")),
    Template(("{a} was hired by {f} in {mo}", "{f} hired {a} in {mo}"), ("{a} was fired by {f} in {mo}",)),
    Template(("{a} was born on {d} {mo} {y}", "{a} was born on {mo} {d}, {y}"), ("{a} was born on {d} {mo} {z}",)),
    Template(("{a} enjoys {t} and {u}", "{a} likes {u} and {t}"), ("{a} enjoys {t} but not {u}",)),
    Template(("{a} prefers {t} to {u}", "{a} likes {t} better than {u}"), ("{a} prefers {u} to {t}",)),
    Template(("On Mondays, {a} teaches {t}", "{a} teaches {t} on Mondays"), ("{a} teaches {t} on Fridays",)),
    Template(("{a} can't play {t}", "{a} cannot play {t}", "{a} is unable to play {t}"), ("{a} can play {t}",)),
    Template(("{a} is {b}'s boss at {f}", "{a} is {b}'s boss, at {f}"), ("{b} is {a}'s boss at {f}",)),
    Template(("{a} started {t} in {y}", "{a} began {t} in {y}", "In {y}, {a} started {t}"), ("{a} quit {t} in {y}",)),
    Template(("{a} has never been to {p}", "{a} has never been to {p}!"), ("{a} has always been to {p}",)),
    Template(
        ("The {t} class costs {n} euros per month", "The {t} class costs {n} euros a month"),
        ("The {t} class costs {m} euros per month",),
    ),
    Template(("{a} introduced {b} to {c}", "{b} was introduced to {c} by {a}"), ("{a} introduced {c} to {b}",)),
    Template(("{a} is going to visit {p} in {mo}", "{a} will visit {p} in {mo}"), ("{a} visited {p} in {mo}",)),
    Template(
        ("{a} currently studies {t} in {p}", "{a} studies {t} in {p} at the moment"),
        ("{b} currently studies {t} in {p}",),
    ),
    Template(("Call {a} after {n} o'clock", "Call {a} after {n}"), ("Call {a} before {n} o'clock",)),
    Template(("{a} hates {t}", "{a} can't stand {t}", "{a} detests {t}"), ("{a} hated {t}",)),
    Template(
        ("{a} repaired the {t} table in {p}", "{a} fixed the {t} table in {p}"), ("{a} broke the {t} table in {p}",)
    ),
)


@dataclass(frozen=True, slots=True)
class Planted:
    """One memory of the corpus: its text, the fact it tells, and how it was made from the fact's first telling."""

    text: str
    fact: int
    how: How | None


_PLANS: tuple[tuple[How, ...], ...] = (
    (),
    (),
    (How.EXACT,),
    (How.CASE,),
    (How.REWORDED,),
    (How.REWORDED, How.CASE, How.EXACT),
)


def plant(seed: int, count: int) -> list[Planted]:
    """Return so many memories in random order."""
    random = Random(seed)
    corpus: list[Planted] = []
    told: set[str] = set()
    fact = 0
    while len(corpus) < count:
        template, fill = random.choice(TEMPLATES), _filler(random)
        first, *others = (fill(telling) for telling in template.tellings)
        twins = [fill(twin) for twin in template.twins]
        # A fact that was told before, or whose twin was, would be a duplicate that nobody planted.
        if not told.isdisjoint((first, *others, *twins)):
            continue
        told.update((first, *others, *twins))
        corpus.append(Planted(first, fact, None))
        corpus.extend(Planted(_retold(random, how, first, others), fact, how) for how in random.choice(_PLANS))
        fact += 1
        if random.random() < 0.5:
            corpus.append(Planted(random.choice(twins), fact, None))
            fact += 1
    random.shuffle(corpus)
    return corpus[:count]


def _filler(random: Random) -> Callable[[str], str]:
    a, b, c = random.sample(PEOPLE, 3)
    p, q = random.sample(PLACES, 2)
    t, u = random.sample(THINGS, 2)
    n = random.randint(2, 9)
    year = random.randint(1_960, 2_020)
    values = {"a": a, "b": b, "c": c, "p": p, "q": q, "t": t, "u": u, "f": random.choice(FIRMS), "n": n, "m": n + 1}
    values |= {"mo": random.choice(MONTHS), "d": random.randint(1, 28), "y": year, "z": year + 1}
    return lambda text: text.format(**values)[:1].upper() + text.format(**values)[1:]


def _retold(random: Random, how: How, first: str, others: Sequence[str]) -> str:
    if how is How.EXACT:
        return first
    if how is How.REWORDED:
        return random.choice(others)
    return random.choice((first.upper(), first.lower(), f"{first}.", f"  {first} !", first.replace(" ", "  ")))
