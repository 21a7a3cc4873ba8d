"""Changes of a manifest are pure, commute where they must, and refuse what would lose a row."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3_agent_memory.errors import CorruptError
from s3_agent_memory.index.manifest import (
    FoldRef,
    Manifest,
    SegmentRef,
    TrashRef,
    add_fold,
    decode_manifest,
    drop_folds,
    drop_trash,
    encode_manifest,
    note_fold,
    replace_segments,
    stamp_folds,
)

NAMES = st.from_regex("[0-9a-z][0-9a-z-]{0,11}", fullmatch=True)
COUNTS = st.integers(min_value=0, max_value=2**53)
MANIFESTS = st.builds(
    Manifest,
    version=COUNTS,
    nonce=NAMES,
    analyzer=NAMES,
    segments=st.lists(st.builds(SegmentRef, NAMES, COUNTS, COUNTS), max_size=4).map(tuple),
    folds=st.lists(st.builds(FoldRef, NAMES, st.none() | COUNTS), max_size=4).map(tuple),
    trash=st.lists(st.builds(TrashRef, NAMES, COUNTS), max_size=4).map(tuple),
)

A, B, C, D = (SegmentRef(name, 10, 1_000) for name in "abcd")
ENGLISH = "english/1"
BODY = encode_manifest(Manifest(version=3, nonce="n", analyzer=ENGLISH, segments=(A, B), folds=(FoldRef("b", 7),)))


def manifest_of(*segments: SegmentRef, **values: Any) -> Manifest:
    return Manifest(analyzer=ENGLISH, segments=segments, **values)


def fold(manifest: Manifest, segment: SegmentRef) -> Manifest:
    added = add_fold(manifest, segment, analyzer=ENGLISH, has_log_entries=True)
    assert added is not None
    return added


def changed(**values: Any) -> bytes:
    return json.dumps({**json.loads(BODY), **values}).encode()


# --- folds ------------------------------------------------------------------------------------------------------------


def test_a_fold_is_added_without_a_stamp() -> None:
    assert fold(Manifest(), A).folds == (FoldRef("a", None),)


def test_the_first_fold_decides_on_the_analyzer() -> None:
    assert fold(Manifest(), A).analyzer == ENGLISH


def test_a_fold_of_events_alone_leaves_no_log_to_clean_up() -> None:
    added = add_fold(Manifest(), A, analyzer=ENGLISH, has_log_entries=False)
    assert added is not None
    assert added.folds == ()


@pytest.mark.parametrize(
    "present",
    [manifest_of(A), manifest_of(trash=(TrashRef("a", 1),)), manifest_of(folds=(FoldRef("a", 1),))],
)
def test_a_fold_that_is_known_changes_nothing(present: Manifest) -> None:
    assert fold(present, A) is present


def test_a_fold_of_another_analyzer_is_refused() -> None:
    assert add_fold(manifest_of(A), B, analyzer="german/1", has_log_entries=True) is None


def test_folds_commute() -> None:
    one, other = fold(fold(Manifest(), A), B), fold(fold(Manifest(), B), A)
    assert (one.segment_ids, set(one.folds)) == (other.segment_ids, set(other.folds))


def test_a_segment_in_use_is_noted_as_a_fold_once() -> None:
    noted = note_fold(manifest_of(A, B), "b")
    assert noted.folds == (FoldRef("b", None),)
    assert note_fold(noted, "b") is noted


def test_a_segment_that_is_not_in_use_is_no_fold() -> None:
    manifest = manifest_of(A)
    assert note_fold(manifest, "x") is manifest


def test_a_stamp_is_given_once() -> None:
    manifest = stamp_folds(manifest_of(A, B, folds=(FoldRef("a", 5), FoldRef("b", None))), 9)
    assert manifest.folds == (FoldRef("a", 5), FoldRef("b", 9))


def test_stamping_nothing_is_no_change() -> None:
    manifest = manifest_of(A, folds=(FoldRef("a", 5),))
    assert stamp_folds(manifest, 9) is manifest


def test_a_fold_is_dropped_once_its_log_entries_are_gone() -> None:
    manifest = manifest_of(A, B, folds=(FoldRef("a", 5), FoldRef("b", 6)))
    assert drop_folds(manifest, {"a"}).folds == (FoldRef("b", 6),)


def test_dropping_what_is_not_there_is_no_change() -> None:
    manifest = manifest_of(A, folds=(FoldRef("a", 5),), trash=(TrashRef("c", 1),))
    assert drop_folds(manifest, {"x"}) is manifest
    assert drop_trash(manifest, {"x"}) is manifest


# --- compaction -------------------------------------------------------------------------------------------------------


def swap(manifest: Manifest, inputs: str, outputs: tuple[SegmentRef, ...], analyzer: str = ENGLISH) -> Manifest | None:
    return replace_segments(manifest, list(inputs), outputs, analyzer=analyzer, now_ms=100)


def test_inputs_go_to_the_trash_with_the_time() -> None:
    swapped = swap(manifest_of(A, B, C), "ab", (D,))
    assert swapped == manifest_of(D, C, trash=(TrashRef("a", 100), TrashRef("b", 100)))


def test_a_compaction_whose_input_was_replaced_is_abandoned() -> None:
    assert swap(manifest_of(B, C), "ab", (D,)) is None


def test_a_compaction_that_landed_already_changes_nothing() -> None:
    landed = manifest_of(D, trash=(TrashRef("a", 1),))
    assert swap(landed, "a", (D,)) is landed


def test_a_fold_that_came_meanwhile_survives_a_compaction() -> None:
    swapped = swap(fold(manifest_of(A, B), C), "ab", (D,))
    assert swapped is not None
    assert (swapped.segments, swapped.folds) == ((D, C), (FoldRef("c", None),))


def test_segments_of_two_analyzers_are_never_in_use_together() -> None:
    assert swap(manifest_of(A, B), "a", (D,), analyzer="german/1") is None


def test_a_rebuild_may_change_the_analyzer() -> None:
    swapped = swap(manifest_of(A, B), "ab", (D,), analyzer="german/1")
    assert swapped is not None
    assert swapped.analyzer == "german/1"


def test_a_rebuild_of_nothing_leaves_no_segments() -> None:
    swapped = swap(manifest_of(A), "a", ())
    assert swapped == manifest_of(trash=(TrashRef("a", 100),))


def test_a_file_is_known_while_it_is_in_use_in_the_trash_or_awaits_clean_up() -> None:
    manifest = manifest_of(A, folds=(FoldRef("b", 1),), trash=(TrashRef("c", 1),))
    assert manifest.known_ids == {"a", "b", "c"}


# --- bytes ------------------------------------------------------------------------------------------------------------


@given(MANIFESTS)
def test_a_manifest_survives_the_round_trip(manifest: Manifest) -> None:
    assert decode_manifest(encode_manifest(manifest), "key") == manifest


def test_a_manifest_says_its_totals_for_those_who_read_it() -> None:
    assert json.loads(BODY)["totals"] == {"rows": 20, "bytes": 2_000}


def test_generations_differ_in_bytes_even_where_nothing_else_changed() -> None:
    manifest = manifest_of(A, version=1, nonce="x")
    assert encode_manifest(manifest) != encode_manifest(replace(manifest, nonce="y"))


@pytest.mark.parametrize(
    "body",
    [
        *[b"", b"{}", b"[]", b"null", BODY[:-1], BODY[: len(BODY) // 2], changed(schema=2), changed(version=-1)],
        *[changed(version="3"), changed(nonce=None), changed(analyzer=7), changed(segments=None), changed(folds={})],
        *[
            changed(segments=[["../a", 1, 1]]),
            changed(trash=[["A", 1]]),
            changed(segments=[["a", 1]]),
            changed(segments=[["a", "1", 1]]),
            changed(segments=[[1, 1, 1]]),
        ],
        *[changed(folds=[["a", "soon"]]), changed(trash=[["a", None]]), changed(trash=["ab"]), changed(version=True)],
    ],
)
def test_what_is_no_manifest_is_reported_with_its_key(body: bytes) -> None:
    with pytest.raises(CorruptError) as caught:
        decode_manifest(body, "memory/users/alice/_index/HEAD")
    assert caught.value.key == "memory/users/alice/_index/HEAD"
