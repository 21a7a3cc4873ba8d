"""A file that has grown too long has more than one reason to exist."""

from tests.architecture.project import ROOT, python_files

LINE_COUNT_MAX = 500


def test_no_python_file_is_longer_than_the_limit() -> None:
    line_counts = {str(path): len((ROOT / path).read_text("utf-8").splitlines()) for path in python_files()}
    too_long = {path: count for path, count in line_counts.items() if count > LINE_COUNT_MAX}
    assert not too_long, f"split these files (at most {LINE_COUNT_MAX} lines): {too_long}"
