"""Namespaces and keys of LangGraph keep apart what is different, and come back as they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import InvalidNamespaceError

from s3_agent_memory.domain.ids import check_id
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.integrations.langgraph_keys import id_of, labels_of, namespace_of

# What LangGraph allows: any Unicode but the period and NUL.
LABEL_TEXT = st.characters(exclude_characters=".\x00", exclude_categories=["Cs"])
LABELS = st.lists(st.text(LABEL_TEXT, min_size=1, max_size=5), min_size=1, max_size=3).map(tuple)


@given(LABELS)
def test_a_namespace_comes_back_as_it_was(labels: tuple[str, ...]) -> None:
    assert labels_of(namespace_of(labels)) == labels


@given(LABELS, LABELS)
def test_different_namespaces_lie_in_different_places(left: tuple[str, ...], right: tuple[str, ...]) -> None:
    assert (namespace_of(left) == namespace_of(right)) == (left == right)


@given(LABELS, LABELS)
def test_what_lies_below_a_namespace_is_stored_below_it(above: tuple[str, ...], below: tuple[str, ...]) -> None:
    assert namespace_of(above + below)[: len(above)] == namespace_of(above)


@pytest.mark.parametrize(
    ("labels", "segments"),
    [
        (("users", "alice"), ("users", "alice")),
        (("a@b+c-d_e",), ("a@b+c-d_e",)),
        (("user:7",), ("x.user.3A7",)),
        (("_private",), ("x._private",)),
        (("semantic",), ("x.semantic",)),
        (("~",), ("x..7E",)),
        (("北京",), ("b.5YyX5Lqs",)),
    ],
)
def test_a_label_stays_readable(labels: tuple[str, ...], segments: tuple[str, ...]) -> None:
    assert namespace_of(labels) == segments


@pytest.mark.parametrize(
    "segments",
    [("example.com",), ("x.plain",), ("x..zz",), ("x..2E",), ("b.a",), ("b.YWJj",), ("users", "v1.2"), ("x..3a",)],
)
def test_a_namespace_that_only_looks_encoded_is_not_langgraphs(segments: tuple[str, ...]) -> None:
    assert labels_of(Namespace(segments)) is None


@pytest.mark.parametrize("labels", [(), ("a",) * 9, ("a" * 129,), ("a" * 100,) * 3, ("ж" * 100,), ("\ud800",)])
def test_a_namespace_that_does_not_fit_is_refused_with_what_fits(labels: tuple[str, ...]) -> None:
    with pytest.raises(InvalidNamespaceError, match="1 to 8 labels"):
        namespace_of(labels)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_every_key_has_an_id(key: str) -> None:
    check_id(id_of(key))


@given(st.text(max_size=8, alphabet="ab/._ "), st.text(max_size=8, alphabet="ab/._ "))
def test_different_keys_have_different_ids(left: str, right: str) -> None:
    assert (id_of(left) == id_of(right)) == (left == right)


def test_a_key_that_looks_like_the_id_of_another_gets_one_of_its_own() -> None:
    taken = id_of("not safe")
    assert id_of(taken) not in (taken, "not safe")


def test_a_safe_key_is_its_own_id() -> None:
    assert id_of("units") == "units"
