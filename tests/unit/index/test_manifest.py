"""Changes of a manifest are pure, commute where they must, and refuse what would lose a row."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3_agent_memory.errors import CorruptError
from s3_agent_memory.index.manifest import (
    MODEL_LENGTH_MAX,
    EmbeddingRef,
    FoldRef,
    Manifest,
    SegmentRef,
    TrashRef,
    VectorRef,
    add_fold,
    add_vectors,
    decode_manifest,
    drop_folds,
    drop_trash,
    encode_manifest,
    note_fold,
    replace_segments,
    replace_vectors,
    set_embedding,
    stamp,
)

NAMES = st.from_regex("[0-9a-z][0-9a-z-]{0,11}", fullmatch=True)
MODELS = st.text(min_size=1, max_size=MODEL_LENGTH_MAX)
COUNTS = st.integers(min_value=0, max_value=2**53)
MANIFESTS = st.builds(
    Manifest,
    version=COUNTS,
    nonce=NAMES,
    analyzer=NAMES,
    segments=st.lists(st.builds(SegmentRef, NAMES, COUNTS, COUNTS), max_size=4).map(tuple),
    folds=st.lists(st.builds(FoldRef, NAMES, st.none() | COUNTS), max_size=4).map(tuple),
    trash=st.lists(st.builds(TrashRef, NAMES, st.none() | COUNTS), max_size=4).map(tuple),
    embedding=st.none() | st.builds(EmbeddingRef, MODELS, COUNTS),
    vectors=st.lists(st.builds(VectorRef, NAMES, COUNTS, COUNTS, MODELS), max_size=4).map(tuple),
    vector_trash=st.lists(st.builds(TrashRef, NAMES, st.none() | COUNTS), max_size=4).map(tuple),
)

A, B, C, D = (SegmentRef(name, 10, 1_000) for name in "abcd")
ENGLISH = "english/1"
MODEL = "model/1"
V, W, X = (VectorRef(name, 10, 1_000, MODEL) for name in "vwx")
FOREIGN = VectorRef("f", 10, 1_000, "other/1")
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
    manifest = stamp(manifest_of(A, B, folds=(FoldRef("a", 5), FoldRef("b", None))), 9)
    assert manifest.folds == (FoldRef("a", 5), FoldRef("b", 9))


def test_replaced_files_are_stamped_once_as_well() -> None:
    manifest = stamp(manifest_of(A, trash=(TrashRef("b", 5), TrashRef("c"))), 9)
    assert manifest.trash == (TrashRef("b", 5), TrashRef("c", 9))
    assert stamp(manifest_with(V, vector_trash=(TrashRef("w"),)), 9).vector_trash == (TrashRef("w", 9),)


def test_a_swap_leaves_what_it_replaces_without_a_stamp() -> None:
    swapped = replace_segments(stamp(manifest_of(A, B), 9), ["a"], (D,), analyzer=ENGLISH)
    assert swapped is not None
    assert swapped.trash == (TrashRef("a", None),)


def test_stamping_nothing_is_no_change() -> None:
    manifest = manifest_of(A, folds=(FoldRef("a", 5),))
    assert stamp(manifest, 9) is manifest


def test_a_fold_is_dropped_once_its_log_entries_are_gone() -> None:
    manifest = manifest_of(A, B, folds=(FoldRef("a", 5), FoldRef("b", 6)))
    assert drop_folds(manifest, {"a"}).folds == (FoldRef("b", 6),)


def test_dropping_what_is_not_there_is_no_change() -> None:
    manifest = manifest_of(A, folds=(FoldRef("a", 5),), trash=(TrashRef("c", 1),))
    assert drop_folds(manifest, {"x"}) is manifest
    assert drop_trash(manifest, {"x"}) is manifest


# --- compaction -------------------------------------------------------------------------------------------------------


def swap(manifest: Manifest, inputs: str, outputs: tuple[SegmentRef, ...], analyzer: str = ENGLISH) -> Manifest | None:
    return replace_segments(manifest, list(inputs), outputs, analyzer=analyzer)


def test_inputs_go_to_the_trash_with_the_time() -> None:
    swapped = swap(manifest_of(A, B, C), "ab", (D,))
    assert swapped == manifest_of(D, C, trash=(TrashRef("a"), TrashRef("b")))


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
    assert swapped == manifest_of(trash=(TrashRef("a"),))


def test_a_file_is_known_while_it_is_in_use_in_the_trash_or_awaits_clean_up() -> None:
    manifest = manifest_of(A, folds=(FoldRef("b", 1),), trash=(TrashRef("c", 1),))
    assert manifest.known_ids == {"a", "b", "c"}


# --- vectors ----------------------------------------------------------------------------------------------------------


def manifest_with(*vectors: VectorRef, **values: Any) -> Manifest:
    return Manifest(embedding=EmbeddingRef(MODEL, 5), vectors=vectors, **values)


def swap_vectors(manifest: Manifest, inputs: str, *outputs: VectorRef, witnesses: str = "") -> Manifest | None:
    return replace_vectors(manifest, list(inputs), outputs, witnesses=list(witnesses))


def test_the_first_shard_decides_on_the_model() -> None:
    added = add_vectors(Manifest(), V, 7)
    assert (added.vectors, added.embedding, added.model) == ((V,), EmbeddingRef(MODEL, 7), MODEL)


def test_a_shard_of_another_model_does_not_change_the_namespaces() -> None:
    assert add_vectors(manifest_with(V), FOREIGN, 7) == manifest_with(V, FOREIGN)


@pytest.mark.parametrize("present", [manifest_with(V), manifest_with(vector_trash=(TrashRef("v", 1),))])
def test_a_shard_that_is_known_changes_nothing(present: Manifest) -> None:
    assert add_vectors(present, V, 7) is present


def test_shards_of_one_model_are_found_in_their_order() -> None:
    manifest = manifest_with(V, FOREIGN, W)
    assert (manifest.vectors_of(MODEL), manifest.vectors_of("none")) == ((V, W), ())


def test_a_model_is_set_once_and_keeps_its_time() -> None:
    manifest = manifest_with(V)
    assert set_embedding(manifest, MODEL, 9) is manifest
    assert set_embedding(manifest, "other/1", 9).embedding == EmbeddingRef("other/1", 9)


def test_replaced_shards_go_to_a_trash_of_their_own() -> None:
    swapped = swap_vectors(manifest_with(V, W, FOREIGN), "vw", X)
    assert swapped == manifest_with(X, FOREIGN, vector_trash=(TrashRef("v"), TrashRef("w")))


def test_a_swap_of_shards_that_were_replaced_meanwhile_is_abandoned() -> None:
    assert swap_vectors(manifest_with(W), "vw", X) is None


def test_a_swap_that_relies_on_a_shard_that_went_is_abandoned() -> None:
    assert swap_vectors(manifest_with(V), "v", X, witnesses="vw") is None
    assert swap_vectors(manifest_with(V, W), "v", X, witnesses="vw") is not None


def test_a_swap_of_shards_that_landed_already_changes_nothing() -> None:
    landed = manifest_with(X, vector_trash=(TrashRef("v", 1),))
    assert swap_vectors(landed, "v", X) is landed


def test_shards_may_be_replaced_by_nothing() -> None:
    assert swap_vectors(manifest_with(V), "v") == manifest_with(vector_trash=(TrashRef("v"),))


def test_a_rebuild_leaves_the_vectors_alone() -> None:
    swapped = swap(manifest_of(A, embedding=EmbeddingRef(MODEL, 5), vectors=(V,)), "a", (D,))
    assert swapped is not None
    assert (swapped.vectors, swapped.model) == ((V,), MODEL)


def test_trash_of_both_sorts_is_dropped_by_id() -> None:
    manifest = manifest_with(trash=(TrashRef("a", 1),), vector_trash=(TrashRef("v", 1), TrashRef("w", 1)))
    assert drop_trash(manifest, {"a", "v"}) == manifest_with(vector_trash=(TrashRef("w", 1),))


def test_a_shard_is_known_while_it_is_in_use_or_in_the_trash() -> None:
    assert manifest_with(V, vector_trash=(TrashRef("w", 1),)).known_vector_ids == {"v", "w"}


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
        *[b"", b"{}", b"[]", b"null", BODY[:-1], BODY[: len(BODY) // 2], changed(schema=1), changed(version=-1)],
        *[changed(version="3"), changed(nonce=None), changed(analyzer=7), changed(segments=None), changed(folds={})],
        *[
            changed(segments=[["../a", 1, 1]]),
            changed(trash=[["A", 1]]),
            changed(segments=[["a", 1]]),
            changed(segments=[["a", "1", 1]]),
            changed(segments=[[1, 1, 1]]),
        ],
        *[changed(vectors=None), changed(vectors=[["v", 1, 1]]), changed(vectors=[["v", 1, 1, ""]])],
        *[changed(vectors=[["../v", 1, 1, "m"]]), changed(vectors=[["v", 1, 1, "m" * (MODEL_LENGTH_MAX + 1)]])],
        *[changed(embedding="m"), changed(embedding=["m"]), changed(embedding=["", 1]), changed(vector_trash=None)],
        *[changed(folds=[["a", "soon"]]), changed(trash=[["a", "soon"]]), changed(trash=["ab"]), changed(version=True)],
    ],
)
def test_what_is_no_manifest_is_reported_with_its_key(body: bytes) -> None:
    with pytest.raises(CorruptError) as caught:
        decode_manifest(body, "memory/users/alice/_index/HEAD")
    assert caught.value.key == "memory/users/alice/_index/HEAD"
