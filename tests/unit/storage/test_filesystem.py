"""What is peculiar to the directory adapter: links, names, permissions, ETags, failures of the operating system."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from s3_agent_memory.domain.clock import SystemClock, SystemEntropy
from s3_agent_memory.errors import (
    AccessDeniedError,
    AgentMemoryError,
    BackendError,
    CorruptError,
    UnknownOutcomeError,
    ValidationError,
)
from s3_agent_memory.storage import filesystem
from s3_agent_memory.storage.filesystem import FilesystemObjectStore

KEY = "memory/alice/units.json"
SIZE_MAX = 1_000_000
START_US = 1_800_000_000_000_000

Request = Callable[[FilesystemObjectStore, str], object]


class FrozenClock:
    """A clock that stands still."""

    def __init__(self, now_us: int = START_US) -> None:
        self._now_us = now_us

    def now_us(self) -> int:
        return self._now_us

    def monotonic_s(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        pass


class ConstantEntropy:
    """Randomness that is none: the worst there can be."""

    def random_bytes(self, count: int) -> bytes:
        return b"\x01" * count


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def store(root: Path) -> FilesystemObjectStore:
    return FilesystemObjectStore(root, clock=SystemClock(), entropy=SystemEntropy())


def get(store: FilesystemObjectStore, key: str) -> object:
    return store.get(key, size_max=SIZE_MAX)


def put(store: FilesystemObjectStore, key: str) -> object:
    return store.put(key, b"new")


def delete(store: FilesystemObjectStore, key: str) -> None:
    store.delete(key)


every_request = pytest.mark.parametrize("request_", [get, put, delete])


def files_below(root: Path) -> dict[str, tuple[int, int]]:
    """Return every path below a directory with its mode and time of change."""
    return {str(path): (path.lstat().st_mode, path.lstat().st_mtime_ns) for path in sorted(root.rglob("*"))}


# Keys ----------------------------------------------------------------------------------------------------------------


@every_request
@pytest.mark.parametrize(
    "key",
    ["", "/", "..", ".", "../x", "a/../x", "a/./x", "/etc/x", "a//x", "a/", ".x", "a/.x", "-x", "a b", "a\nb", "a\n"]
    + ["a\\x", "a\0b", "ä", "a:b", ".locks/00", ".tmp/x", "k" * 256, "/".join(["k" * 255] * 4) + "/k"],
)
def test_a_key_that_is_no_plain_path_is_refused(
    store: FilesystemObjectStore, root: Path, request_: Request, key: str
) -> None:
    with pytest.raises(ValidationError):
        request_(store, key)
    assert not root.exists()


@pytest.mark.parametrize("prefix", ["../", "/", "a/../", ".locks/", ".tmp/", "a\0b/"])
def test_a_prefix_that_is_no_plain_path_lists_nothing(store: FilesystemObjectStore, prefix: str) -> None:
    store.put(KEY, b"one")
    assert store.list_page(prefix).objects == ()


def test_a_key_as_long_as_keys_may_be_is_stored(store: FilesystemObjectStore) -> None:
    key = "/".join(["k" * 255] * 4)
    store.put(key, b"one")
    assert [row.key for row in store.list_page("").objects] == [key]


def test_a_key_as_deep_as_keys_may_be_is_stored(store: FilesystemObjectStore) -> None:
    key = "/".join("a" * 512)
    store.put(key, b"one")
    assert [row.key for row in store.list_page("").objects] == [key]


def test_a_folder_of_objects_cannot_become_an_object(store: FilesystemObjectStore, root: Path) -> None:
    store.put(KEY, b"one")
    with pytest.raises(ValidationError):
        store.put("memory/alice", b"two")
    assert list((root / ".tmp").iterdir()) == []


def test_an_object_cannot_become_a_folder(store: FilesystemObjectStore) -> None:
    store.put(KEY, b"one")
    with pytest.raises(ValidationError):
        store.put(KEY + "/below", b"two")


# Links and special files ---------------------------------------------------------------------------------------------


@every_request
def test_a_symbolic_link_in_place_of_an_object_is_refused(
    store: FilesystemObjectStore, root: Path, tmp_path: Path, request_: Request
) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"secret")
    (root / KEY).parent.mkdir(parents=True)
    (root / KEY).symlink_to(outside)
    with pytest.raises(CorruptError) as caught:
        request_(store, KEY)
    assert (caught.value.key, outside.read_bytes()) == (KEY, b"secret")


@every_request
@pytest.mark.parametrize("folder", ["memory", "memory/alice"])
def test_a_symbolic_link_in_place_of_a_folder_is_refused(
    store: FilesystemObjectStore, root: Path, tmp_path: Path, *, folder: str, request_: Request
) -> None:
    outside = tmp_path / "outside"
    (outside / "alice").mkdir(parents=True)
    (root / folder).parent.mkdir(parents=True)
    (root / folder).symlink_to(outside)
    before = files_below(outside)
    with pytest.raises(CorruptError) as caught:
        request_(store, KEY)
    assert (caught.value.key, files_below(outside)) == (KEY, before)


@pytest.mark.parametrize("prefix", ["memory/alice/", "memory/alice/u"])
def test_a_listing_refuses_to_begin_behind_a_symbolic_link(
    store: FilesystemObjectStore, root: Path, tmp_path: Path, prefix: str
) -> None:
    (tmp_path / "outside").mkdir()
    (root / "memory").mkdir(parents=True)
    (root / "memory/alice").symlink_to(tmp_path / "outside")
    with pytest.raises(CorruptError):
        store.list_page(prefix)


def test_a_listing_passes_over_links_and_pipes(store: FilesystemObjectStore, root: Path, tmp_path: Path) -> None:
    store.put("memory/bob/plain", b"one")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_bytes(b"secret")
    (root / "memory/alice").symlink_to(tmp_path / "outside")
    (root / "memory/bob/link").symlink_to(tmp_path / "outside/secret")
    os.mkfifo(root / "memory/bob/pipe")
    assert [item.key for item in store.list_page("").objects] == ["memory/bob/plain"]


@pytest.mark.parametrize("folder", [".locks", ".tmp"])
def test_a_write_refuses_a_working_folder_that_is_a_symbolic_link(
    store: FilesystemObjectStore, root: Path, tmp_path: Path, folder: str
) -> None:
    (tmp_path / "outside").mkdir()
    root.mkdir()
    (root / folder).symlink_to(tmp_path / "outside")
    with pytest.raises(CorruptError):
        store.put(KEY, b"one")
    assert files_below(tmp_path / "outside") == {}


def test_the_root_may_lie_behind_a_symbolic_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    store = FilesystemObjectStore(tmp_path / "link", clock=SystemClock(), entropy=SystemEntropy())
    store.put(KEY, b"one")
    assert (tmp_path / "real" / KEY).read_bytes() == b"one"


@every_request
def test_a_named_pipe_in_place_of_an_object_is_refused(
    store: FilesystemObjectStore, root: Path, request_: Request
) -> None:
    (root / KEY).parent.mkdir(parents=True)
    os.mkfifo(root / KEY)
    with pytest.raises(CorruptError):
        request_(store, KEY)


# A directory that people use, too ------------------------------------------------------------------------------------


def test_an_object_is_a_plain_file(store: FilesystemObjectStore, root: Path) -> None:
    store.put(KEY, b"one")
    assert (root / KEY).read_bytes() == b"one"


def test_a_file_put_there_by_hand_is_an_object(store: FilesystemObjectStore, root: Path) -> None:
    (root / KEY).parent.mkdir(parents=True)
    (root / KEY).write_bytes(b"one")
    (row,) = store.list_page("").objects
    store.put(KEY, b"two", if_match=row.etag)
    assert (root / KEY).read_bytes() == b"two"


def test_names_that_no_key_can_have_are_not_listed(store: FilesystemObjectStore, root: Path) -> None:
    store.put(KEY, b"one")
    for name in (".DS_Store", "my notes.txt", ".git", "-x"):
        (root / "memory" / name).write_bytes(b"")
    (root / ".hidden").mkdir()
    (root / ".hidden" / "x").write_bytes(b"")
    assert [row.key for row in store.list_page("").objects] == [KEY]


def test_an_edit_by_hand_of_the_same_length_changes_the_etag(store: FilesystemObjectStore, root: Path) -> None:
    etag = store.put(KEY, b"one")
    (root / KEY).write_bytes(b"two")
    assert store.get_if_changed(KEY, etag, size_max=SIZE_MAX) == store.get(KEY, size_max=SIZE_MAX)


def test_files_and_folders_are_private_to_the_user(store: FilesystemObjectStore, root: Path) -> None:
    store.put(KEY, b"one")
    modes = {oct(path.stat().st_mode & 0o777) for path in [root, *root.rglob("*")] if path.is_dir()}
    assert (modes, oct((root / KEY).stat().st_mode & 0o777)) == ({"0o700"}, "0o600")


def test_reading_creates_nothing(root: Path) -> None:
    store = FilesystemObjectStore(root, clock=SystemClock(), entropy=SystemEntropy())
    assert (store.get(KEY, size_max=SIZE_MAX), store.list_page("").objects, root.exists()) == (None, (), False)


def test_a_read_only_tree_can_be_read(root: Path) -> None:
    (root / KEY).parent.mkdir(parents=True)
    (root / KEY).write_bytes(b"one")
    folders = [root, root / "memory", root / "memory/alice"]
    for folder in folders:
        folder.chmod(0o500)
    before = files_below(root)
    store = FilesystemObjectStore(root, clock=SystemClock(), entropy=SystemEntropy())
    found, page = store.get(KEY, size_max=SIZE_MAX), store.list_page("")
    for folder in folders:
        folder.chmod(0o700)
    assert found is not None
    assert ([row.etag for row in page.objects], files_below(root).keys()) == ([found.etag], before.keys())


# ETags ---------------------------------------------------------------------------------------------------------------


def test_no_etag_repeats_when_the_same_bytes_are_written_in_a_burst(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # It would only slow the burst down.
    store = FilesystemObjectStore(root, clock=FrozenClock(), entropy=ConstantEntropy())
    etags = [store.put(KEY, b"same") for _ in range(5_000)]
    assert len(set(etags)) == len(etags)


def test_the_time_of_change_keeps_to_the_clock(root: Path) -> None:
    store = FilesystemObjectStore(root, clock=FrozenClock(), entropy=SystemEntropy())
    store.put(KEY, b"one")
    (row,) = store.list_page("").objects
    assert 0 <= row.modified_ms - START_US // 1_000 <= 1


def test_the_etag_of_an_object_created_again_is_new(root: Path) -> None:
    store = FilesystemObjectStore(root, clock=FrozenClock(), entropy=SystemEntropy())
    first = store.put(KEY, b"one")
    store.delete(KEY)
    assert store.put(KEY, b"one") != first


def test_a_file_system_with_coarse_time_stamps_is_refused(
    store: FilesystemObjectStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    utime = os.utime

    def utime_in_seconds(descriptor: int, *, ns: tuple[int, int]) -> None:
        second = ns[1] // 10**9 * 10**9
        utime(descriptor, ns=(second, second))

    monkeypatch.setattr(os, "utime", utime_in_seconds)
    with pytest.raises(BackendError, match="time stamps"):
        store.put(KEY, b"one")
    assert not (root / KEY).exists()


# Failures ------------------------------------------------------------------------------------------------------------


def failing(error_number: int) -> Callable[..., Any]:
    def fail(*args: object, **kwargs: object) -> None:
        raise OSError(error_number, os.strerror(error_number))

    return fail


@pytest.mark.parametrize(
    ("error_number", "expected"),
    [
        (errno.ENOSPC, BackendError),
        (errno.EDQUOT, BackendError),
        (errno.EIO, BackendError),
        (errno.EACCES, AccessDeniedError),
        (errno.EPERM, AccessDeniedError),
        (errno.EROFS, AccessDeniedError),
    ],
)
@pytest.mark.parametrize("function", ["mkdir", "utime", "replace"])
def test_a_failing_write_says_why_and_leaves_nothing(
    store: FilesystemObjectStore,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    function: str,
    error_number: int,
    expected: type[AgentMemoryError],
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, function, failing(error_number))
        with pytest.raises(expected) as caught:
            store.put(KEY, b"one")
    assert not isinstance(caught.value, UnknownOutcomeError)
    assert [path for path in root.rglob("*") if path.is_file() and path.parent.name != ".locks"] == []


def test_a_write_whose_rename_may_not_be_on_the_disk_has_an_unknown_outcome(
    store: FilesystemObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(KEY, b"one")
    fsync, calls = os.fsync, []

    def fail_second_time(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 2:
            failing(errno.EIO)()
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fail_second_time)
    with pytest.raises(UnknownOutcomeError):
        store.put(KEY, b"two")


def test_a_listing_skips_a_file_that_vanishes_meanwhile(
    store: FilesystemObjectStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        store.put(name, b"")
    lstat = os.lstat

    def lstat_after_removal(path: str, *, dir_fd: int) -> os.stat_result:
        (root / "b").unlink(missing_ok=True)
        return lstat(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "lstat", lstat_after_removal)
    assert [row.key for row in store.list_page("").objects] == ["a", "c"]


def test_a_page_has_a_size_of_its_own(store: FilesystemObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filesystem, "PAGE_SIZE", 2)
    for name in ("a", "b", "c"):
        store.put(name, b"")
    page = store.list_page("", limit=10)
    assert ([row.key for row in page.objects], page.is_last) == (["a", "b"], False)


def test_a_listing_leaves_no_descriptor_open(store: FilesystemObjectStore) -> None:
    for name in ("a/1", "a/2", "b/1"):
        store.put(name, b"")
    before = sorted(Path("/dev/fd").iterdir())
    store.list_page("", limit=1)
    assert sorted(Path("/dev/fd").iterdir()) == before


# Left-overs ----------------------------------------------------------------------------------------------------------


def test_opening_a_store_removes_temporary_files_older_than_an_hour(store: FilesystemObjectStore, root: Path) -> None:
    store.put(KEY, b"one")
    for name, age_seconds in (("old", 3_700), ("young", 3_500)):
        (root / ".tmp" / name).write_bytes(b"half")
        modified_ns = START_US * 1_000 - age_seconds * 10**9
        os.utime(root / ".tmp" / name, ns=(modified_ns, modified_ns))
    FilesystemObjectStore(root, clock=FrozenClock(), entropy=ConstantEntropy())
    assert [path.name for path in (root / ".tmp").iterdir()] == ["young"]


def test_a_write_leaves_no_temporary_file(store: FilesystemObjectStore, root: Path) -> None:
    store.put(KEY, b"one")
    assert list((root / ".tmp").iterdir()) == []
