"""Tokens of the HTTP API, managed by the command line."""

from pathlib import Path

from s3_agent_memory import bootstrap
from tests.edge.cli.conftest import Run


def create(run: Run, *options: str) -> dict[str, object]:
    """Create a token and return what the command showed."""
    outcome = run("token", "create", "--principal", "laptop", *options)
    assert outcome.exit_code == 0, outcome.err
    document: dict[str, object] = outcome.document
    return document


def test_a_token_covers_the_default_namespace_with_read_and_write(run: Run) -> None:
    shown = create(run)
    names = ("principal", "namespace", "covers_children", "permissions", "expires_at")
    assert [shown[name] for name in names] == ["laptop", "default", False, ["read", "write"], None]


def test_a_token_may_cover_a_namespace_and_all_below_it(run: Run) -> None:
    shown = create(run, "--namespace-prefix", "users", "--permission", "read")
    names = ("namespace", "covers_children", "permissions")
    assert [shown[name] for name in names] == ["users", True, ["read"]]


def test_a_token_is_accepted_by_the_store_it_was_created_in(run: Run, store_url: str) -> None:
    shown = create(run, "-n", "users/alice")
    service = bootstrap.build_token_service(bootstrap.Settings(url=store_url))
    assert service.verify(str(shown["token"])).token_id == shown["token_id"]


def test_a_token_is_not_stored(run: Run, tmp_path: Path) -> None:
    token = str(create(run)["token"])
    stored = [path.read_text("utf-8") for path in (tmp_path / "store" / "auth").rglob("*") if path.is_file()]
    assert [token in text for text in stored] == [False]


def test_tokens_are_listed_without_their_secret(run: Run) -> None:
    shown = create(run)
    del shown["token"]
    assert run("token", "list").document == {"tokens": [shown]}


def test_a_token_is_revoked_by_the_first_digits_of_its_id(run: Run) -> None:
    token_id = str(create(run)["token_id"])
    assert run("token", "revoke", token_id[:8]).document == {"token_id": token_id, "revoked": True}


def test_a_revoked_token_is_no_longer_listed(run: Run) -> None:
    run("token", "revoke", str(create(run)["token_id"]))
    assert run("token", "list").document == {"tokens": []}


def test_a_time_to_live_makes_a_token_expire(run: Run) -> None:
    assert create(run, "--ttl-days", "30")["expires_at"] is not None
