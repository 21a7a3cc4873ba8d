"""Damage in one place stays in that place: broken grants, manifests, log entries, stray files, odd imports."""

import json
from pathlib import Path

import pytest

from s3_agent_memory import MemoryStore
from s3_agent_memory.bootstrap import Parts, Settings
from s3_agent_memory.domain.keys import head_key, log_prefix, parse_namespace
from s3_agent_memory.errors import CorruptError, LimitExceededError, ValidationError
from s3_agent_memory.index.log import decode_entry
from s3_agent_memory.index.manifest import decode_manifest

NAMESPACE = parse_namespace("users/alice")


def made() -> Parts:
    return Parts(Settings(url="memory://"))


def test_a_token_is_revoked_although_another_grant_is_broken() -> None:
    parts = made()
    _, grant = parts.tokens.create(principal="alice", namespace="users/alice")
    parts.runtime.store.put(f"auth/tokens/{'0' * 64}.json", b"broken")
    assert parts.tokens.revoke(grant.token_id) == grant.token_id
    assert parts.tokens.list() == []


def test_a_broken_grant_is_revoked_like_any_other() -> None:
    parts = made()
    parts.runtime.store.put(f"auth/tokens/{'0' * 64}.json", b"broken")
    assert parts.tokens.revoke("0" * 8) == "0" * 64


def test_a_manifest_with_an_impossible_file_name_is_rebuilt() -> None:
    parts = made()
    parts.memories.remember("users/alice", "a fact")
    parts.services.sweeper.fold_all(NAMESPACE)
    key = head_key(NAMESPACE)
    found = parts.runtime.store.get(key, size_max=100_000)
    assert found is not None
    document = json.loads(found.body)
    document["segments"][0][0] = "../ up"
    parts.runtime.store.put(key, json.dumps(document).encode())
    assert len(Parts(Settings(url="memory://"), store=parts.runtime.store).memories.recall("users/alice", "fact")) == 1


def test_a_manifest_refuses_impossible_file_names() -> None:
    body = {
        "schema": 1,
        "version": 1,
        "nonce": "",
        "analyzer": "",
        "segments": [["a/b", 1, 1]],
        "folds": [],
        "trash": [],
    }
    with pytest.raises(CorruptError):
        decode_manifest(json.dumps(body).encode(), "HEAD")


def test_a_log_entry_with_a_frequency_of_zero_is_unreadable_and_hides_nothing_else() -> None:
    parts = made()
    parts.memories.remember("users/alice", "a fact")
    parts.memories.remember("users/alice", "another fact")
    (first, _) = parts.runtime.store.list_page(log_prefix(NAMESPACE)).objects
    found = parts.runtime.store.get(first.key, size_max=100_000)
    assert found is not None
    document = json.loads(found.body)
    document["terms"] = "A" * 12
    parts.runtime.store.put(first.key, json.dumps(document).encode())
    result = Parts(Settings(url="memory://"), store=parts.runtime.store).memories.recall("users/alice", "fact")
    assert len(result) == 1
    assert result.degraded == ("log",)


def test_a_log_entry_with_a_frequency_of_zero_does_not_decode() -> None:
    parts = made()
    parts.memories.remember("users/alice", "a fact")
    (entry,) = parts.runtime.store.list_page(log_prefix(NAMESPACE)).objects
    found = parts.runtime.store.get(entry.key, size_max=100_000)
    assert found is not None
    document = {**json.loads(found.body), "terms": "A" * 12}
    with pytest.raises(CorruptError):
        decode_entry(json.dumps(document).encode(), entry.key)


def test_an_import_reports_the_first_wrong_lines_and_counts_them_all() -> None:
    report = made().memories.import_("users/alice", ["x"] * 1_000)
    assert (report.failed, len(report.errors)) == (1_000, 100)


def test_an_import_refuses_fields_it_would_drop() -> None:
    report = made().memories.import_("users/alice", ['{"content": "a", "ttl": 5}'])
    assert report.failed == 1
    assert "'ttl'" in report.errors[0].message


@pytest.mark.parametrize("field", ['"metadata": []', '"tags": {"a": 1}', '"schema": true'])
def test_an_import_refuses_values_of_the_wrong_type(field: str) -> None:
    report = made().memories.import_("users/alice", [f'{{"content": "a", {field}}}'])
    assert report.failed == 1


def test_a_memory_that_could_not_be_imported_again_is_refused() -> None:
    # A control character takes six characters of JSON.
    with pytest.raises(LimitExceededError, match="bytes of JSON"):
        made().memories.remember(
            "users/alice", "\x01" * 16_384, data={"a": "\x01" * 5_000}, metadata={"a": "\x01" * 600}
        )


def test_a_filter_with_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(ValidationError):
        made().memories.recall("users/alice", "x", filter={"id": "\ud800"})


def test_the_longest_namespace_can_be_swept(tmp_path: Path) -> None:
    store = MemoryStore.from_url(f"file://{tmp_path}")
    namespace = "/".join(["n" * 29] * 8)
    store.remember(namespace, "a fact")
    assert store.sweep(namespace).checked == 1


def test_a_longer_namespace_is_refused() -> None:
    with pytest.raises(ValidationError, match="240"):
        made().memories.remember("/".join(["n" * 30] * 8), "a fact")


def test_a_rebuilt_index_does_not_count_an_object_that_was_removed_by_hand(tmp_path: Path) -> None:
    store = MemoryStore.from_url(f"file://{tmp_path}")
    store.remember("users/alice", "one")
    gone = store.remember("users/alice", "two")
    (tmp_path / gone.key).unlink()
    assert store.reindex("users/alice").memories == 1
    assert store.stats("users/alice").memories == 1


def test_a_link_among_the_objects_does_not_hide_the_others(tmp_path: Path) -> None:
    store = MemoryStore.from_url(f"file://{tmp_path}")
    kept = store.remember("users/alice", "kept")
    (tmp_path / kept.key).with_name("stray.json").symlink_to("/etc/hostname")
    assert len(list(store.export("users/alice"))) == 1
    assert store.sweep("users/alice").checked == 1


def test_namespaces_are_found_page_by_page() -> None:
    parts = made()
    names = [f"users/u{number:04d}" for number in range(1_200)]
    for name in names:
        parts.runtime.store.put(f"memory/{name}/semantic/a.json", b"{}")
    for number in range(1_500):
        parts.runtime.store.put(f"memory/users/u0000/semantic/{number}.json", b"{}")
    parts.runtime.store.put("memory/users/u0000/jobs/semantic/a.json", b"{}")
    assert parts.memories.namespaces("users") == sorted([*names, "users/u0000/jobs"])


def test_an_unreadable_log_entry_degrades_answers_until_a_sweep_has_looked_for_what_it_stood_for() -> None:
    parts = made()
    parts.memories.remember("users/alice", "a fact")
    (entry,) = parts.runtime.store.list_page(log_prefix(NAMESPACE)).objects
    parts.runtime.store.put(entry.key, b"x")
    other = Parts(Settings(url="memory://"), store=parts.runtime.store)

    other.folder.fold(NAMESPACE)
    before = other.memories.recall("users/alice", "fact")
    page = other.memories.list("users/alice")
    other.memories.sweep("users/alice")
    after = other.memories.recall("users/alice", "fact")

    assert (len(before), before.degraded, page.degraded) == (0, ("log",), ("log",))
    assert (len(after), after.degraded) == (1, ())
