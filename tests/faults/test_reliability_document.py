"""Whatever the page on reliability names as its proof is there."""

import re
from pathlib import Path

import pytest

from tests.simulation.mutations import MUTATIONS

TESTS = Path(__file__).resolve().parents[1]
PAGE = (TESTS.parent / "docs" / "RELIABILITY.md").read_text("utf-8")
NAMED_TESTS = sorted(set(re.findall(r"`([a-z0-9_/]+\.py)::(test_\w+)`", PAGE)))


@pytest.mark.parametrize(("path", "name"), NAMED_TESTS)
def test_a_test_that_is_named_exists(path: str, name: str) -> None:
    assert f"def {name}(" in (TESTS / path).read_text("utf-8")


def test_a_mutation_that_is_named_exists() -> None:
    named = set(re.findall(r"(?<!\*)\*([a-z0-9_]+)\*(?!\*)", PAGE))
    assert len(named) > 10
    assert named - MUTATIONS.keys() == set()


def test_every_row_of_a_table_names_a_proof() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    claims = [row for row in rows if "Held by" not in row]
    assert [row for row in claims if "::test_" not in row] == []
