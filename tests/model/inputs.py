"""What is drawn: few words, tags and values, so that memories share them and filters meet them."""

from typing import Any

from hypothesis import strategies as st

from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.memory import Attribution
from tests.model.selections import Selection

CHOSEN_IDS = ("alpha", "Beta-2", "c.d_e", "z@z+z")
PAST, FUTURE = "2020-02-29T12:00:00+02:00", "2027-05-01T00:00:00.000001Z"
SECOND, MINUTE, DAY = 1.0, 60.0, 86_400.0

_WORDS = [*"run running runs units metric Alice's café cafe the of 🦊 7".split(), "東京都", "東京"]
texts = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=8).map(" ".join)
queries = st.one_of(st.just(""), st.lists(st.sampled_from([*_WORDS, "unknown"]), min_size=1, max_size=4).map(" ".join))
_kinds = st.sampled_from(list(Kind))
_tags = st.lists(st.sampled_from(["red", "blue", "a,b", "ü"]), max_size=3).map(tuple)
_sources = st.sampled_from([None, "chat:1", "chat:2"])
# Two of them are one number to the index, which keeps 32 bits.
_importances = st.sampled_from([0.0, 0.1, 0.1 + 1e-9, 1 / 3, 0.5, 1.0])

_scalars = st.sampled_from(["Rome", "10", 10, 10.0, 9.5, 1, 2**60, True])
_values = st.one_of(_scalars, st.lists(_scalars, max_size=2), st.dictionaries(st.sampled_from("ab"), _scalars))
_names = st.sampled_from(["city", "price", "price", "k", "k.x"])
objects = st.dictionaries(_names, st.one_of(_scalars, _values, st.fixed_dictionaries({"x": _scalars})), max_size=3)
patches = st.dictionaries(
    _names, st.one_of(st.none(), _values, st.dictionaries(st.sampled_from("axb"), st.none() | _scalars)), max_size=3
)
# Most stay, else time leaves nothing to look at.
_lifetimes = st.sampled_from(
    [*[{}] * 15, {"ttl": SECOND}, {"ttl": MINUTE}, {"ttl": 3 * DAY}, {"expires_at": PAST}, {"expires_at": FUTURE}]
)


def _fields(
    needed: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    plain = st.fixed_dictionaries(needed, optional=optional)
    return st.tuples(plain, _lifetimes).map(lambda parts: {**parts[0], **parts[1]})


NewMemory = tuple[str, dict[str, Any]]
new_fields = _fields(
    {"kind": _kinds},
    tags=_tags,
    importance=_importances,
    source=_sources,
    data=st.none() | objects,
    metadata=objects,
    attribution=st.builds(Attribution, author=st.sampled_from([None, "Ann", "Bob"]), user_id=st.just("u1")),
)


def new_memories(*, min_size: int, max_size: int) -> st.SearchStrategy[list[NewMemory]]:
    """Draw texts, each with the other fields of its memory."""
    return st.lists(st.tuples(texts, new_fields), min_size=min_size, max_size=max_size)


changes = _fields(
    {},
    content=texts,
    tags=_tags,
    importance=_importances,
    source=_sources,
    data=st.none() | patches,
    metadata=st.none() | patches,
)

_equalities = st.sampled_from(["$eq", "$ne"])
_operators = st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"])


def _compared(values: st.SearchStrategy[Any], operators: st.SearchStrategy[str] = _operators) -> st.SearchStrategy[Any]:
    return st.one_of(values, st.dictionaries(operators, values, min_size=1, max_size=2))


_any_value = st.one_of(_compared(_scalars), _compared(_scalars), st.none(), st.lists(_scalars, max_size=2))
_text = _compared(st.sampled_from([None, "Ann", "chat:1", "semantic", *CHOSEN_IDS]))
_moment = _compared(st.sampled_from([PAST, FUTURE, "2026-10-24T08:37:41.624370+09:00"]))
_VALUES_BY_FIELD: dict[str, st.SearchStrategy[Any]] = {
    "data.city": _any_value,
    "data.price": _any_value,
    "data.k.x": _any_value,
    "metadata.price": _any_value,
    "importance": _compared(_importances),
    "tags": _compared(st.sampled_from(["red", "a,b"]), _equalities),
    "author": _text,
    "source": _text,
    "kind": _text,
    "id": _text,
    "created_at": _moment,
    "updated_at": _moment,
    "expires_at": st.none() | _moment,
}
filters = st.lists(st.sampled_from(sorted(_VALUES_BY_FIELD)), min_size=1, max_size=2, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: _VALUES_BY_FIELD[name] for name in names})
)
# Most reads are narrowed down by one thing at most, so that something is left.
selections = st.one_of(
    st.builds(Selection),
    st.builds(Selection),
    st.builds(Selection, kind=_kinds),
    st.builds(Selection, tags=_tags),
    st.builds(Selection, filter=filters),
    st.builds(Selection, kind=st.none() | _kinds, tags=_tags, filter=filters),
)
steps_seconds = st.sampled_from([1e-6, 1e-6, SECOND, MINUTE + 1, 301.0, 3_601.0, 3 * DAY, 8 * DAY, 200 * DAY])
