"""The command ``cost``: a table for people, a document for programs, and errors that say what is allowed."""

import pytest

from tests.edge.cli.conftest import Run

MONTH = ("cost", "--recalls", "1000000", "--writes", "300000", "--memories", "1000000", "--namespaces", "1000")


def test_the_document_adds_up(run: Run) -> None:
    document = run(*MONTH, "--json").document
    assert document["total"] == pytest.approx(sum(line["usd"] for line in document["lines"]))
    assert document["total"] == pytest.approx(sum(document["parts"].values()))
    assert document["per_million"]["remember"]["total_usd"] > 10
    assert {"name", "floor_usd", "source", "date", "evidence"} <= set(document["alternatives"][0])


def test_the_table_ends_with_the_total_of_the_document(run: Run) -> None:
    total = run(*MONTH, "--json").document["total"]
    (line,) = [line for line in run(*MONTH).out.splitlines() if line.startswith("total")]
    assert line.split()[1] == f"{total:,.2f}"


def test_the_table_names_the_day_of_its_prices(run: Run) -> None:
    document = run(*MONTH, "--json").document
    assert document["prices_as_of"] in run(*MONTH).out.splitlines()[0]


def test_options_reach_the_model(run: Run) -> None:
    usual = run(*MONTH, "--json").document
    cheap = run(*MONTH, "--json", "--no-snapstart", "--pollers", "2", "--changes-per-fold", "64").document
    assert cheap["parts"]["standing"] < usual["parts"]["standing"]
    assert cheap["parts"]["index"] < usual["parts"]["index"]


def test_it_opens_no_store(run: Run) -> None:
    outcome = run("--url", "s3://nowhere", *MONTH, "--json")
    assert outcome.exit_code == 0
    assert outcome.err == ""


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("cost", "--recalls", "1", "--writes", "1"), "required: --memories"),
        (("cost", "--recalls", "many", "--writes", "1", "--memories", "1"), "invalid int value: 'many'"),
        (("cost", "--recalls", "-1", "--writes", "1", "--memories", "1"), "recalls must be from 0"),
        ((*MONTH, "--size", "99999"), "size in bytes must be from 1 to 16,384"),
        ((*MONTH, "--cold-share", "nan"), "cold share must be from 0 to 1"),
    ],
)
def test_bad_input_is_refused_with_what_is_allowed(run: Run, argv: tuple[str, ...], told: str) -> None:
    outcome = run(*argv)
    assert (outcome.exit_code, outcome.out) == (2, "")
    assert told in outcome.err
