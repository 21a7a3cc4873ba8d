"""What documents say is what the results say."""

import re

import pytest

from benchmarks import report, report_peers, report_tables, report_targets
from benchmarks.report_markdown import best_marked, number, size
from benchmarks.runner import Result, Status

MARKER = re.compile(r"<!-- results: ([\w-]+) -->")


def result(part, figures, *, status=Status.OK, message=""):
    return Result(
        part=part, status=status, is_quick=True, command="", seconds=1.0, machine={}, message=message, figures=figures
    )


def system(**figures):
    return {"settings": ["as it is"], "durability": "kept", "versions": {}, "quality": {}, "sizes": {}, **figures}


@pytest.mark.parametrize("path", [report.DOCUMENT, report.README], ids=lambda path: path.name)
def test_tables_of_a_document_are_what_the_results_render_to(path):
    assert report.outdated(report.RESULTS, [path]) == [], "run `make bench ARGS=--report`"


def test_every_table_has_its_place_in_the_document():
    wanted = {*report_tables.TABLES, "targets", "machine", "parts"} - {"peers-short"}
    assert set(MARKER.findall(report.DOCUMENT.read_text("utf-8"))) == wanted


def test_pictures_of_the_document_are_those_that_are_drawn():
    plots = pytest.importorskip("benchmarks.plots")
    shown = re.findall(r"benchmarks/results/([\w-]+)\.svg", report.DOCUMENT.read_text("utf-8"))
    assert sorted(shown) == sorted(plots.PICTURES)


def test_filling_replaces_what_stands_between_markers_and_nothing_else():
    text = "before\n<!-- results: rebuild -->\nold\n<!-- end of results -->\nafter\n"
    filled = report.fill(text, {"rebuild": result("rebuild", None, status=Status.FAILED, message="no disk")})
    assert filled == "before\n<!-- results: rebuild -->\n\nFailed: no disk\n\n<!-- end of results -->\nafter\n"


def test_filling_twice_changes_nothing():
    text = "<!-- results: bm25 -->\n<!-- end of results -->\n"
    once = report.fill(text, {})
    assert report.fill(once, {}) == once


def test_an_unknown_table_is_refused():
    with pytest.raises(KeyError, match="nonsense"):
        report.fill("<!-- results: nonsense -->\n<!-- end of results -->", {})


def test_best_cells_are_marked_whoever_they_belong_to():
    assert best_marked([3.0, None, 1.0], number) == ["3.00", "-", "**1.00**"]


def test_cells_that_read_the_same_are_both_best():
    assert best_marked([0.9001, 0.9002, 0.5], lambda value: f"{value:.3f}", is_best_high=True) == [
        "**0.900**",
        "**0.900**",
        "0.500",
    ]


def test_nothing_known_is_nothing_best():
    assert best_marked([None, None], number) == ["-", "-"]


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (0.01234, "0.0123"), (9.996, "10.0"), (1234.5, "1,230"), (True, "yes"), (None, "-")]
)
def test_numbers_have_as_many_digits_as_mean_something(value, text):
    assert number(value) == text


def test_sizes_have_a_unit():
    assert [size(value) for value in (12, 1_234, 5e6, None)] == ["12 B", "1.23 kB", "5.00 MB", "-"]


def test_a_peer_that_is_faster_is_the_marked_one():
    figures = {
        "sizes": [1000],
        "contenders": {
            "ours": system(sizes={"1000": {"load": {"seconds": 2.0}}}),
            "theirs": system(sizes={"1000": {"load": {"seconds": 1.0}}}),
        },
    }
    ours, theirs = report_peers.sizes(figures).splitlines()[-2:]
    assert ("**" in ours, "**1.00**" in theirs) == (False, True)


def test_a_peer_that_was_not_run_says_why():
    one = system(sizes={"1000": {"not_run": "loading would take about 3 h"}})
    assert "- slow: not run: loading would take about 3 h" in report_peers.sizes(
        {"sizes": [1000], "contenders": {"slow": one}}
    )


def test_a_peer_that_is_not_installed_says_so():
    one = {"settings": ["x"], "durability": "kept", "error": "not installed: the package lancedb is not there"}
    assert "lancedb is not there" in report_peers.sizes({"sizes": [1000], "contenders": {"LanceDB": one}})


def test_what_writes_nothing_to_disk_is_not_the_best_at_it():
    one = system(sizes={"1000": {"write": {"bytes_per_write": 0, "p50_ms": 0.1}}})
    assert "**0 B**" not in report_peers.sizes({"sizes": [1000], "contenders": {"in memory": one}})


def test_a_target_without_its_figures_is_not_measured():
    for row in (target.row({}) for target in report_targets.TARGETS):
        assert row[2:4] == ["not measured", ""], row[0]


@pytest.mark.parametrize(("seconds", "mark"), [(59.0, "reached"), (61.0, "**missed**")])
def test_a_target_is_judged_by_its_figure(seconds, mark):
    rebuild = next(target for target in report_targets.TARGETS if target.part == "rebuild")
    figures = {"seconds": seconds, "memory_count": 100_000}
    assert rebuild.row({"rebuild": result("rebuild", figures)})[3] == mark


def test_a_rebuild_of_fewer_memories_measures_nothing():
    rebuild = next(target for target in report_targets.TARGETS if target.part == "rebuild")
    figures = {"seconds": 1.0, "memory_count": 2_000}
    assert rebuild.row({"rebuild": result("rebuild", figures)})[2] == "not measured"


def test_lost_writes_miss_the_target():
    target = next(one for one in report_targets.TARGETS if one.part == "concurrency")
    figures = {"writers": 32, "acknowledged": 640, "lost": 1, "failed": 0, "swaps": 0}
    assert target.row({"concurrency": result("concurrency", figures)})[3] == "**missed**"


@pytest.mark.parametrize("marker", report_tables.TABLES)
def test_a_part_that_ended_early_shows_what_it_had_printed(marker):
    part, _ = report_tables.TABLES[marker]
    found = result(part, {"text": ["half of it"]}, status=Status.FAILED, message="no time left")
    shown = report_tables.render(marker, {part: found})
    assert shown.splitlines() == ["Failed: no time left", "", "```text", "half of it", "```"]


@pytest.mark.parametrize("target", report_targets.TARGETS, ids=lambda target: target.what)
def test_a_target_whose_part_ended_early_is_not_measured(target):
    found = result(target.part, {"text": ["half of it"]}, status=Status.FAILED)
    assert target.row({target.part: found})[2] == "not measured"
