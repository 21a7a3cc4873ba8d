"""Names of lines do not cover each other, and a picture is drawn for results that are there."""

from itertools import pairwise

import pytest

plots_lines = pytest.importorskip("benchmarks.plots_lines")


def test_names_far_apart_stay_where_they_are():
    assert plots_lines.spread([0.1, 0.5], gap=0.1) == [0.1, 0.5]


def test_names_too_close_move_apart_by_the_same():
    assert plots_lines.spread([0.5, 0.5], gap=0.1) == pytest.approx([0.45, 0.55])


def test_names_pushed_into_their_neighbours_push_those_too():
    moved = plots_lines.spread([0.40, 0.45, 0.46], gap=0.1)
    assert min(high - low for low, high in pairwise(moved)) == pytest.approx(0.1)


def test_pictures_are_drawn_as_png_and_svg(tmp_path):
    from benchmarks import plots
    from benchmarks.runner import Result, Status

    figures = {"1000": {"hybrid": {"p50_ms": 1.0}}, "100000": {"hybrid": {"p50_ms": 9.0}}}
    found = Result(part="hybrid", status=Status.OK, is_quick=True, command="", seconds=1.0, machine={}, figures=figures)
    found.write(tmp_path)
    assert plots.draw_all(tmp_path) == ["computing"]
    assert {path.suffix for path in tmp_path.glob("computing.*")} == {".png", ".svg"}


def test_pictures_of_the_same_results_are_the_same(tmp_path):
    from benchmarks import plots
    from benchmarks.runner import Result, Status

    figures = {"1000": {"hybrid": {"p50_ms": 1.0}}, "100000": {"hybrid": {"p50_ms": 9.0}}}
    Result(part="hybrid", status=Status.OK, is_quick=True, command="", seconds=1.0, machine={}, figures=figures).write(
        tmp_path
    )
    plots.draw_all(tmp_path)
    first = (tmp_path / "computing.svg").read_bytes()
    plots.draw_all(tmp_path)
    assert (tmp_path / "computing.svg").read_bytes() == first
