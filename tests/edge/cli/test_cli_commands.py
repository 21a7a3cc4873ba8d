"""What each command answers, over a store in a directory."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.edge.cli.conftest import Run
from tests.layers.built_model import model_directory

ALICE = ("-n", "users/alice")


def remember(run: Run, text: str, *options: str) -> dict[str, object]:
    """Remember a text of Alice's and return the memory."""
    outcome = run("remember", text, *ALICE, *options)
    assert outcome.exit_code == 0, outcome.err
    memory: dict[str, object] = outcome.document["memory"]
    return memory


def contents(outcome_document: dict[str, list[dict[str, dict[str, str]]]]) -> list[str]:
    """Return the texts of the hits."""
    return [hit["memory"]["content"] for hit in outcome_document["hits"]]


def test_the_quickstart_of_the_documentation_works(run: Run) -> None:
    run("remember", "Alice prefers metric units", "--kind", "procedural", "-n", "users/alice")
    answer = run("recall", "which units?", "-n", "users/alice").document
    assert contents(answer) == ["Alice prefers metric units"]


def test_remember_answers_with_the_memory_and_its_key(run: Run) -> None:
    document = run("remember", "Alice prefers metric units", "--kind", "procedural", *ALICE).document
    assert document["key"] == f"memory/users/alice/procedural/{document['memory']['id']}.json"


def test_remember_stores_what_its_options_say(run: Run) -> None:
    options = ("--tag", "food", "--tag", "prefs", "--importance", "0.8", "--source", "chat:42", "--id", "diet")
    objects = ("--data", '{"since": 2020}', "--metadata", '{"lang": "en"}')
    memory = remember(run, "Alice is vegetarian", *options, *objects)
    names = ("id", "kind", "tags", "importance", "source", "data", "metadata", "expires_at", "version")
    expected = ["diet", "semantic", ["food", "prefs"], 0.8, "chat:42", {"since": 2020}, {"lang": "en"}, None, 1]
    assert [memory[name] for name in names] == expected


def test_remember_stores_who_a_memory_is_about(run: Run) -> None:
    options = ("--user-id", "auth0|123", "--agent-id", "bot", "--session-id", "s1", "--author", "Alice")
    expected = {"user_id": "auth0|123", "agent_id": "bot", "session_id": "s1", "author": "Alice"}
    assert remember(run, "hello", *options)["attribution"] == expected


def test_a_time_to_live_is_given_in_days(run: Run) -> None:
    memory = remember(run, "Asked for a ramen recipe", "--kind", "episodic", "--ttl-days", "7")
    created, expires = (datetime.fromisoformat(str(memory[name])) for name in ("created_at", "expires_at"))
    assert abs(expires - created - timedelta(days=7)) < timedelta(seconds=1)


@pytest.mark.parametrize("text", ["用户身份 🎉 café", "- starts with a dash", "two\nlines", '"quotes" and \\'])
def test_text_comes_back_as_it_was_given(run: Run, text: str) -> None:
    memory = remember(run, text)
    assert run("get", str(memory["id"]), *ALICE).document["memory"]["content"] == text


def test_standard_output_holds_text_readable_and_not_escaped(run: Run) -> None:
    assert "用户身份" in run("remember", "用户身份", *ALICE).out


def test_get_shows_one_memory(run: Run) -> None:
    memory = remember(run, "Alice is vegetarian")
    assert run("get", str(memory["id"]), *ALICE).document["memory"] == memory


def test_recall_returns_no_more_than_its_limit(run: Run) -> None:
    for number in range(3):
        remember(run, f"ramen number {number}")
    assert len(run("recall", "ramen", "--limit", "2", *ALICE).document["hits"]) == 2


def test_recall_selects_by_kind(run: Run) -> None:
    remember(run, "ramen fact")
    remember(run, "ramen event", "--kind", "episodic")
    assert contents(run("recall", "ramen", "--kind", "episodic", *ALICE).document) == ["ramen event"]


def test_recall_selects_by_tag(run: Run) -> None:
    remember(run, "ramen without")
    remember(run, "ramen with", "--tag", "food")
    assert contents(run("recall", "ramen", "--tag", "food", *ALICE).document) == ["ramen with"]


def test_recall_selects_by_filter(run: Run) -> None:
    remember(run, "ramen in Rome", "--data", '{"city": "Rome"}')
    remember(run, "ramen in Oslo", "--data", '{"city": "Oslo"}')
    answer = run("recall", "ramen", "--filter", '{"data.city": "Oslo"}', *ALICE)
    assert contents(answer.document) == ["ramen in Oslo"]


def test_recall_explains_scores_only_when_asked(run: Run) -> None:
    remember(run, "ramen")
    plain = run("recall", "ramen", *ALICE).document["hits"][0]
    explained = run("recall", "ramen", "--explain", *ALICE).document["hits"][0]
    assert ("explain" in plain, "explain" in explained) == (False, True)


def test_recall_of_an_empty_query_ranks_what_is_there(run: Run) -> None:
    remember(run, "something")
    assert contents(run("recall", "", *ALICE).document) == ["something"]


def test_recall_in_an_empty_namespace_finds_nothing(run: Run) -> None:
    assert run("recall", "anything", *ALICE).document == {"hits": [], "degraded": []}


def test_recall_never_sees_another_namespace(run: Run) -> None:
    remember(run, "ramen")
    assert run("recall", "ramen", "-n", "users/alic").document["hits"] == []


def test_eventual_recall_is_answered(run: Run) -> None:
    remember(run, "ramen")
    assert run("recall", "ramen", "--consistency", "eventual", *ALICE).exit_code == 0


def test_list_pages_to_the_end_without_repetition(run: Run) -> None:
    ids = {remember(run, f"memory {number}")["id"] for number in range(5)}
    seen: list[str] = []
    cursor: list[str] = []
    for _ in range(5):
        page = run("list", "--limit", "2", *cursor, *ALICE).document
        seen += [memory["id"] for memory in page["memories"]]
        if page["next_cursor"] is None:
            break
        cursor = ["--cursor", page["next_cursor"]]
    assert (len(seen), set(seen)) == (5, ids)


def test_update_changes_the_given_fields_only(run: Run) -> None:
    before = remember(run, "Alice is vegetarian", "--tag", "food", "--data", '{"a": 1, "b": 2}')
    after = run("update", str(before["id"]), "--content", "Alice is vegan", "--data", '{"a": null}', *ALICE).document
    changed = {**before, "content": "Alice is vegan", "data": {"b": 2}, "version": 2}
    changed["updated_at"] = after["memory"]["updated_at"]
    assert after["memory"] == changed


def test_update_empties_the_fields_that_are_to_be_cleared(run: Run) -> None:
    options = ("--tag", "a", "--source", "chat", "--data", '{"a": 1}', "--metadata", '{"b": 1}', "--ttl-days", "1")
    memory_id = str(remember(run, "text", *options)["id"])
    clear = [word for field in ("tags", "source", "data", "metadata", "expiry") for word in ("--clear", field)]
    memory = run("update", memory_id, *clear, *ALICE).document["memory"]
    emptied = [memory[name] for name in ("tags", "source", "data", "metadata", "expires_at")]
    assert [value or None for value in emptied] == [None] * 5


def test_update_with_the_expected_version_changes(run: Run) -> None:
    memory_id = str(remember(run, "one")["id"])
    outcome = run("update", memory_id, "--content", "two", "--expected-version", "1", *ALICE)
    assert outcome.document["memory"]["version"] == 2


def test_forget_answers_with_the_id(run: Run) -> None:
    memory_id = str(remember(run, "secret")["id"])
    assert run("forget", memory_id, "--reason", "asked", *ALICE).document == {"id": memory_id, "forgotten": True}


def test_a_forgotten_memory_is_not_recalled(run: Run) -> None:
    run("forget", str(remember(run, "secret")["id"]), *ALICE)
    assert run("recall", "secret", *ALICE).document["hits"] == []


def test_resurrect_lets_a_forgotten_id_be_used_again(run: Run) -> None:
    remember(run, "one", "--id", "mine")
    run("forget", "mine", *ALICE)
    assert remember(run, "two", "--id", "mine", "--resurrect")["content"] == "two"


def test_prune_reports_how_many_it_forgot(run: Run) -> None:
    remember(run, "short-lived", "--ttl-days", "1e-9")
    remember(run, "stays")
    assert run("prune", *ALICE).document == {"forgotten": 1, "consolidated": 0}


def test_reindex_reports_what_it_indexed(run: Run) -> None:
    remember(run, "one")
    assert run("reindex", *ALICE).document["memories"] == 1


def test_recall_works_after_a_reindex(run: Run) -> None:
    remember(run, "ramen")
    run("reindex", *ALICE)
    assert contents(run("recall", "ramen", *ALICE).document) == ["ramen"]


def test_sweep_reports_what_it_checked(run: Run) -> None:
    remember(run, "one")
    assert run("sweep", *ALICE).document["checked"] == 1


def test_stats_count_memories_by_kind(run: Run) -> None:
    remember(run, "a")
    remember(run, "b", "--kind", "episodic")
    document = run("stats", *ALICE).document
    assert (document["memories"], document["by_kind"]["episodic"]) == (2, 1)


def test_namespaces_are_listed(run: Run) -> None:
    remember(run, "a")
    run("remember", "b", "-n", "agents/bot")
    assert run("namespaces").document == {"namespaces": ["agents/bot", "users/alice"]}


def test_namespaces_are_selected_by_prefix(run: Run) -> None:
    remember(run, "a")
    run("remember", "b", "-n", "agents/bot")
    assert run("namespaces", "users").document == {"namespaces": ["users/alice"]}


def test_the_namespace_comes_from_the_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S3_AGENT_MEMORY_NAMESPACE", "users/bob")
    assert run("remember", "text").document["memory"]["namespace"] == ["users", "bob"]


def test_the_default_namespace_is_used_when_none_is_given(run: Run) -> None:
    assert run("remember", "text").document["memory"]["namespace"] == ["default"]


def test_an_embedder_named_on_the_command_line_gives_memories_vectors(run: Run) -> None:
    embedder = ("--embeddings", "onnx", "--embedding-model", str(model_directory()))
    run("remember", "Alice does not eat meat", "-n", "users/alice")
    run(*embedder, "remember", "Bob plays the trumpet", "-n", "users/alice")
    before = run("stats", "-n", "users/alice").document
    report = run("reindex", "-n", "users/alice", *embedder).document
    after = run("stats", "-n", "users/alice").document
    assert (before["vectors"], report["embedded"] > 0, after["vectors"]) == (1, True, 2)
    assert after["embedding_model"].startswith("all-MiniLM-L6-v2/")


def test_an_embedder_that_does_not_exist_is_refused_with_those_there_are(run: Run) -> None:
    outcome = run("stats", "--embeddings", "word2vec")
    assert (outcome.exit_code, "sentence-transformers" in outcome.err) == (2, True)


def test_a_model_that_is_not_there_is_refused(run: Run, tmp_path: Path) -> None:
    outcome = run("remember", "x", "--embeddings", "onnx", "--embedding-model", str(tmp_path))
    assert (outcome.exit_code, str(tmp_path) in outcome.err) == (2, True)
