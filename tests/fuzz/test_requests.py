"""What a caller sends: cursors, tokens, filters, queries and single values of any kind end in an answer or an error."""

import base64
import itertools
import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s3_agent_memory.bootstrap import Parts, Settings
from s3_agent_memory.domain.filters import OPERATORS, PLAIN_FIELDS, matches, parse_filter
from s3_agent_memory.domain.ids import check_id
from s3_agent_memory.domain.keys import parse_marker_key, parse_namespace, parse_truth_key
from s3_agent_memory.domain.timestamps import parse_timestamp
from s3_agent_memory.errors import AuthenticationError, ValidationError
from tests.fakes.clock import START, FakeClock
from tests.fakes.entropy import SeededEntropy
from tests.fuzz.damage import damaged, odd_bodies, odd_documents, odd_values
from tests.fuzz.refusals import refusal_code

NAMESPACE = "users/alice"
MORE_EXAMPLES = settings(max_examples=3 * settings().max_examples)
# Lone surrogates too: a JSON escape can bring them in.
texts = st.text(st.characters(), max_size=40)
json_values = st.recursive(
    st.one_of(odd_values, texts, st.integers(), st.floats()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)


def opened() -> Parts:
    return Parts(Settings(url="memory://"), clock=FakeClock(), entropy=SeededEntropy())


# Values of which some are equal though they look different, and others different though they look equal.
VALUES: tuple[Any, ...] = (
    10,
    10.0,
    "10",
    1,
    True,
    "true",
    2**60,
    1e308,
    [1],
    [1.0],
    [True],
    {"a": 1},
    {"a": 1.0},
    "Rome",
)


def filled() -> Parts:
    parts = opened()
    for number, value in enumerate(VALUES):
        parts.memories.remember(
            NAMESPACE,
            f"metric units {number}",
            id=f"m-{number}",
            tags=["red", f"t-{number % 2}"],
            source=None if number % 3 else "chat",
            # The first two are one number to the index, which keeps 32 bits.
            importance=(0.1, 0.1 + 1e-9, 0.5)[number % 3],
            data={"city": "Rome", "price": value},
        )
    return parts


PARTS = filled()
STORE = PARTS.memories
CURSOR = str(STORE.list(NAMESPACE, limit=2).next_cursor)
TOKEN, _ = PARTS.tokens.create(principal="Ann", namespace=NAMESPACE)

field_names = st.one_of(
    st.sampled_from([*PLAIN_FIELDS, "data", "data.city", "data.price", "metadata.a.b", "data..x", "content"]), texts
)
wanted_values = st.one_of(st.sampled_from((*VALUES, 0.1, 0.1 + 1e-9, "chat", "t-1", "m-3")), json_values)
conditions = st.one_of(
    wanted_values,
    st.dictionaries(
        st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "city"]), wanted_values, max_size=3
    ),
)
filters = st.one_of(json_values, st.dictionaries(field_names, conditions, max_size=3))


@MORE_EXAMPLES
@given(filters)
def test_any_filter_selects_the_same_by_index_and_by_object_or_is_refused(wanted: Any) -> None:
    try:
        parsed = parse_filter(wanted)
        found = [hit.memory.id for hit in STORE.recall(NAMESPACE, "", filter=wanted)]
    except ValidationError:
        return
    everything = [hit.memory for hit in STORE.recall(NAMESPACE, "")]
    assert found == [memory.id for memory in everything if matches(memory, parsed)]


WANTED: dict[str, tuple[Any, ...]] = {
    "data.price": (*VALUES, None, 9.5),
    "data.city": ("Rome", None, 10),
    "data.price.a": (1, 1.0, True, None),
    "importance": (0.1, 0.1 + 1e-9, 0.5, 0, 1),
    "tags": ("red", "t-1", "absent"),
    "source": ("chat", None, "absent"),
    "author": (None, "Ann"),
    "id": ("m-3", "absent", None),
    "kind": ("semantic", "episodic", "absent"),
    "created_at": (START, "2020-01-01", "2030-01-01"),
    "expires_at": (None, "2030-01-01"),
}


@pytest.mark.parametrize("field", WANTED)
def test_every_condition_selects_the_same_by_index_and_by_object(field: str) -> None:
    operators = ("$eq", "$ne") if field == "tags" else OPERATORS
    everything = [hit.memory for hit in STORE.recall(NAMESPACE, "", limit=100)]
    for operator, value in itertools.product(operators, WANTED[field]):
        condition = {field: {operator: value}}
        found = [hit.memory.id for hit in STORE.recall(NAMESPACE, "", filter=condition, limit=100)]
        expected = [memory.id for memory in everything if matches(memory, parse_filter(condition))]
        assert found == expected, condition


@given(texts, st.booleans())
def test_any_query_is_answered(query: str, is_mixed: bool) -> None:
    found = STORE.recall(NAMESPACE, f"metric {query} units" if is_mixed else query)
    assert len(found) == 10 or not is_mixed


def encode_cursor(document: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> Any:
    return json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))


@MORE_EXAMPLES
@given(
    st.one_of(
        texts,
        damaged(CURSOR.encode()).map(lambda body: body.decode("latin-1")),
        odd_documents(decode_cursor(CURSOR)).map(encode_cursor),
    )
)
def test_any_cursor_gives_a_page_or_is_refused(cursor: str) -> None:
    try:
        page = STORE.list(NAMESPACE, limit=2, cursor=cursor)
    except ValidationError:
        return
    ids = [memory.id for memory in page.memories]
    assert ids == sorted(ids, reverse=True)


@given(st.one_of(texts, damaged(TOKEN.encode()).map(lambda body: body.decode("latin-1")), texts.map("sam_".__add__)))
def test_only_the_token_itself_is_accepted(token: str) -> None:
    try:
        PARTS.tokens.verify(token)
    except AuthenticationError:
        return
    assert token == TOKEN


@given(body=odd_bodies(b'{"schema":1,"principal":"Ann","namespace":"a","permissions":["read"]}'))
def test_a_store_with_a_broken_grant_refuses_its_token(body: bytes) -> None:
    parts = opened()
    token, grant = parts.tokens.create(principal="Ann", namespace=NAMESPACE)
    parts.runtime.store.put(f"auth/tokens/{grant.token_id}.json", body)
    for action in (lambda: parts.tokens.verify(token), parts.tokens.list):
        assert refusal_code(action) in (None, "corrupt", "unauthenticated")


@MORE_EXAMPLES
@given(value=st.one_of(json_values, st.datetimes(), st.datetimes(timezones=st.timezones())))
def test_any_value_is_a_moment_an_id_a_namespace_or_refused(value: Any) -> None:
    for parse in (check_id, parse_namespace, lambda item: parse_timestamp(item, field="created_at")):
        try:
            parsed = parse(value)
        except ValidationError:
            continue
        assert isinstance(parsed, datetime | str | tuple)


@given(st.one_of(texts, damaged(b"memory/users/alice/semantic/units.json").map(lambda body: body.decode("latin-1"))))
def test_any_key_is_that_of_truth_or_of_none(key: str) -> None:
    truth, namespace = parse_truth_key(key), parse_marker_key(key)
    assert truth is None or key.startswith("memory/")
    assert namespace is None or key.startswith("memory/_namespaces/")


FIELDS = ("kind", "tags", "importance", "ttl", "expires_at", "source", "data", "metadata", "id", "content")


@MORE_EXAMPLES
@given(fields=st.dictionaries(st.sampled_from(FIELDS), json_values, min_size=1, max_size=3))
def test_any_fields_are_stored_and_read_back_or_refused(fields: dict[str, Any]) -> None:
    store = opened().memories
    arguments = {"content": "text", **fields}
    try:
        stored = store.remember(NAMESPACE, **arguments)
    except ValidationError:
        return
    if stored.expires_at is None:
        assert store.get(NAMESPACE, stored.id) == stored
        assert [hit.memory for hit in store.recall(NAMESPACE, "")] == [stored]


@MORE_EXAMPLES
@given(fields=st.dictionaries(st.sampled_from(FIELDS[:-2]), json_values, min_size=1, max_size=3))
def test_any_update_is_applied_or_refused(fields: dict[str, Any]) -> None:
    store = opened().memories
    first = store.remember(NAMESPACE, "text", data={"city": "Rome"})
    fields.pop("kind", None)
    try:
        stored = store.update(NAMESPACE, first.id, **fields)
    except ValidationError:
        assert store.get(NAMESPACE, first.id) == first
    else:
        assert stored.version == 2
        assert store.stats(NAMESPACE).memories == 1
