"""The checksum line says whether lines are whole."""

import pytest

from s3_agent_memory.domain.checksum_line import (
    Checked,
    ChecksumLine,
    LineChecksum,
    parse_checksum_line,
    with_checksum,
)
from s3_agent_memory.errors import ValidationError


def check(lines: list[str]) -> Checked:
    """Return what the checksum lines among some lines say."""
    checksum, found_any = LineChecksum(), False
    for line in lines:
        found = parse_checksum_line(line.encode())
        if found is None:
            checksum.add(line.encode())
        else:
            found_any = True
            checksum.compare(found)
    return checksum.conclusion(found_any=found_any)


def test_lines_as_they_were_written_are_verified() -> None:
    assert check(list(with_checksum(["a", "ü", ""]))) is Checked.VERIFIED


def test_files_that_were_put_together_are_verified() -> None:
    assert check([*with_checksum(["a"]), *with_checksum([]), *with_checksum(["b", "c"])]) is Checked.VERIFIED


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[1:],
        lambda lines: ["new", *lines],
        lambda lines: [lines[1], lines[0], lines[2]],
        lambda lines: [lines[0] + " ", *lines[1:]],
    ],
)
def test_a_line_that_was_lost_added_moved_or_changed_is_a_mismatch(change: object) -> None:
    assert check(change(list(with_checksum(["a", "b"])))) is Checked.MISMATCH  # type: ignore[operator]


def test_a_file_whose_end_is_missing_is_not_verified() -> None:
    assert check(list(with_checksum(["a", "b"]))[:-1]) is Checked.ABSENT


def test_an_empty_line_is_nothing_wherever_it_stands() -> None:
    assert check(["", *with_checksum(["a", "b"]), ""]) is Checked.VERIFIED


def test_lines_behind_the_last_checksum_are_not_verified() -> None:
    assert check([*with_checksum(["a"]), "b"]) is Checked.ABSENT


def test_a_checksum_line_is_read_as_it_was_written() -> None:
    line = ChecksumLine(7, "ab" * 32)
    assert parse_checksum_line(line.encode()) == line


@pytest.mark.parametrize("line", [b"", b"{}", b'{"content":"checksum"}', b'{"id":"checksum"}', b"not json"])
def test_other_lines_are_none(line: bytes) -> None:
    assert parse_checksum_line(line) is None


@pytest.mark.parametrize(
    "line",
    [b'{"checksum"', b'{"checksum": 1}', b'{"checksum": {"lines": "1", "sha256": ""}}', b'{"checksum"' + b" " * 300],
)
def test_a_line_that_only_begins_like_one_is_refused(line: bytes) -> None:
    with pytest.raises(ValidationError):
        parse_checksum_line(line)
