"""Objects as plain files below one directory: a person can read, search, edit and back them up.

Writers are kept apart by operating system locks, which vanish with their process, and put finished files into place
by an atomic rename; readers take no lock and see a whole object or none. Names that start with a dot are not objects.
"""

import errno
import fcntl
import os
import re
import stat
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

from s3_agent_memory.domain.clock import Clock, Entropy
from s3_agent_memory.errors import (
    AccessDeniedError,
    BackendError,
    CorruptError,
    PreconditionFailedError,
    UnknownOutcomeError,
    ValidationError,
)
from s3_agent_memory.storage.port import (
    UNCHANGED,
    Get,
    ListedObject,
    ObjectPage,
    Read,
    ReadResult,
    StoredObject,
    Unchanged,
)

PAGE_SIZE: Final = 50_000
KEY_LENGTH_MAX: Final = 1_024
_COMPONENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+~-]{0,254}")
_LOCK_FOLDER: Final = ".locks"
_TEMPORARY_FOLDER: Final = ".tmp"
_STRIPE_COUNT: Final = 256
_STALE_AGE_SECONDS: Final = 3_600
_STALE_COUNT_MAX: Final = 1_000
_MTIME_TOLERANCE_NS: Final = 1_000
_OPEN_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY

_Descriptor = TypeVar("_Descriptor", int, int | None)


class FilesystemObjectStore:
    """An ``ObjectStore`` over the directory ``root``, for many threads and processes of one machine.

    Nothing is created before the first write, so a read-only tree can be read. Symbolic links below the root are
    refused, so no key leads out of it. The file system must keep time stamps to the microsecond, honour ``flock``, and
    tell upper from lower case.

    An ETag is made of modification time, size and inode, so a listing reads no file, and an edit by hand changes it.

    Raises:
        ValidationError: (any request) the key is not made of plain path components, or is a folder of other objects.
        CorruptError: (any request) the key, or a listed object, is a symbolic link or another special file.
    """

    def __init__(self, root: Path, *, clock: Clock, entropy: Entropy) -> None:
        self._root = os.path.realpath(root)
        self._clock = clock
        self._entropy = entropy
        self._remove_stale_files()

    def get(self, key: str, *, size_max: int) -> StoredObject | None:
        """See ``ObjectStore``."""
        with self._opened(key) as file:
            return None if file is None else _stored_object(file, size_max)

    def get_if_changed(self, key: str, etag: str, *, size_max: int) -> StoredObject | Unchanged | None:
        """See ``ObjectStore``."""
        with self._opened(key) as file:
            if file is None:
                return None
            return UNCHANGED if _etag(os.fstat(file.fileno())) == etag else _stored_object(file, size_max)

    def list_page(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> ObjectPage:
        """See ``ObjectStore``; a page has at most 50,000 keys and costs one scan of the folders it covers."""
        count_max = PAGE_SIZE if limit is None else min(limit, PAGE_SIZE)
        *folders, _ = prefix.split("/")
        if not all(map(_COMPONENT.fullmatch, folders)):
            return ObjectPage((), is_last=True)
        with _os_errors_translated(prefix), closing(self._rows(folders, prefix, start_after)) as rows:
            found = tuple(islice(rows, count_max + 1))
        return ObjectPage(found[:count_max], is_last=len(found) <= count_max)

    def read_many(self, reads: Sequence[Read]) -> list[ReadResult]:
        """See ``ObjectStore``; one after the other, for a local disk gains little from threads."""
        return [self._read(read) for read in reads]

    def _read(self, read: Read) -> ReadResult:
        if not isinstance(read, Get):
            return self.list_page(read.prefix, start_after=read.start_after, limit=read.limit)
        if read.if_none_match is None:
            return self.get(read.key, size_max=read.size_max)
        return self.get_if_changed(read.key, read.if_none_match, size_max=read.size_max)

    def put(self, key: str, body: bytes, *, if_match: str | None = None, if_absent: bool = False) -> str:
        """See ``ObjectStore``; the bytes are on the disk when this returns."""
        *folders, name = _split(key)
        with (
            _os_errors_translated(key),
            self._locked(key) as stripe,
            _closing(self._open_folder(folders, key, create=True)) as folder,
        ):
            present = _status(folder, name, key)
            if if_absent and present is not None:
                raise PreconditionFailedError(f"{key!r} exists")
            _check_match(present, if_match, key)
            with (
                _closing(self._open_folder([_TEMPORARY_FOLDER], key, create=True)) as temporary,
                _temporary_file(temporary, stripe, body, mtime_ns=self._next_mtime_ns(present)) as etag,
            ):
                os.replace(stripe, name, src_dir_fd=temporary, dst_dir_fd=folder)
            _sync(folder, key)
        return etag

    def delete(self, key: str, *, if_match: str | None = None) -> None:
        """See ``ObjectStore``; folders that become empty stay."""
        *folders, name = _split(key)
        with _os_errors_translated(key), self._locked(key), _closing(self._find_folder(folders, key)) as folder:
            present = None if folder is None else _status(folder, name, key)
            _check_match(present, if_match, key)
            if folder is not None and present is not None:
                os.unlink(name, dir_fd=folder)
                _sync(folder, key)

    def delete_many(self, keys: Sequence[str]) -> None:
        """See ``ObjectStore``; one after the other."""
        for key in keys:
            self.delete(key)

    @contextmanager
    def _opened(self, key: str) -> Iterator[BinaryIO | None]:
        """Open an object for reading; None if there is none."""
        *folders, name = _split(key)
        with _os_errors_translated(key), _closing(self._find_folder(folders, key)) as folder:
            descriptor = None if folder is None else _find_file(folder, name, key)
            if descriptor is None:
                yield None
            else:
                with os.fdopen(descriptor, "rb") as file:
                    yield file

    def _rows(self, folders: Sequence[str], prefix: str, start_after: str) -> Generator[ListedObject, None, None]:
        with _closing(self._find_folder(folders, prefix)) as folder:
            if folder is not None:
                yield from _walk(folder, "".join(name + "/" for name in folders), prefix, start_after)

    def _find_folder(self, folders: Sequence[str], key: str) -> int | None:
        try:
            return self._open_folder(folders, key)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _open_folder(self, folders: Sequence[str], key: str, *, create: bool = False) -> int:
        """Return a descriptor of a folder below the root, reached one step at a time and through no symbolic link."""
        if create:
            os.makedirs(self._root, 0o700, exist_ok=True)
        folder = os.open(self._root, _OPEN_FOLDER | os.O_CLOEXEC)
        for name in folders:
            with _closing(folder) as parent:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(name, 0o700, dir_fd=parent)
                folder = _open_at(parent, name, _OPEN_FOLDER, key)
        return folder

    @contextmanager
    def _locked(self, key: str) -> Iterator[str]:
        """Keep all other writers of the key away; yields the name of its lock, one of 256.

        Waiting has no limit of its own: a lock is held for one small write, and its process's end frees it.
        """
        stripe = f"{zlib.crc32(key.encode()) % _STRIPE_COUNT:02x}"
        with _closing(self._open_folder([_LOCK_FOLDER], key, create=True)) as folder:
            lock = _open_at(folder, stripe, os.O_RDWR | os.O_CREAT, key)
        with _closing(lock):
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                yield stripe
            finally:
                # Closing would not do if another thread forked meanwhile: the child shares the lock.
                fcntl.flock(lock, fcntl.LOCK_UN)

    def _next_mtime_ns(self, present: os.stat_result | None) -> int:
        """Return a modification time that makes the ETag new, even for equal bytes in a reused inode.

        The present millisecond with 20 random bits of nanoseconds below it, and later than the object it replaces.
        """
        noise = int.from_bytes(self._entropy.random_bytes(3), "big") & 0xF_FFFF
        mtime_ns = self._clock.now_us() // 1_000 * 1_000_000 + noise
        if present is None:
            return mtime_ns
        return max(mtime_ns, present.st_mtime_ns + _MTIME_TOLERANCE_NS + noise % _MTIME_TOLERANCE_NS)

    def _remove_stale_files(self) -> None:
        """Remove what killed writers left behind, as far as that is possible."""
        oldest_ns = (self._clock.now_us() - _STALE_AGE_SECONDS * 1_000_000) * 1_000
        with (
            suppress(OSError, CorruptError),
            _closing(self._open_folder([_TEMPORARY_FOLDER], _TEMPORARY_FOLDER)) as folder,
            _closing(self._open_folder([_LOCK_FOLDER], _LOCK_FOLDER)) as locks,
            os.scandir(folder) as entries,
        ):
            for entry in islice(entries, _STALE_COUNT_MAX):
                if entry.stat(follow_symlinks=False).st_mtime_ns < oldest_ns:
                    _discard_abandoned(folder, entry.name, locks)


def _split(key: str) -> list[str]:
    components = key.split("/")
    if len(key) > KEY_LENGTH_MAX or not all(map(_COMPONENT.fullmatch, components)):
        raise ValidationError(
            f"{key!r} is no key for a directory: up to 1,024 characters, components joined by '/', each up to 255 out "
            "of A-Z a-z 0-9 . _ @ + ~ - that start with a letter, a digit or '_'"
        )
    return components


@contextmanager
def _os_errors_translated(key: str) -> Iterator[None]:
    try:
        yield
    except (IsADirectoryError, NotADirectoryError) as error:
        raise ValidationError(f"{key!r} cannot be an object: a file and a folder would share a name") from error
    except OSError as error:
        is_denied = isinstance(error, PermissionError) or error.errno == errno.EROFS
        error_class = AccessDeniedError if is_denied else BackendError
        raise error_class(f"the directory failed for {key!r}: {error.strerror}") from error


@contextmanager
def _closing(descriptor: _Descriptor) -> Iterator[_Descriptor]:
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _open_at(folder: int, name: str, flags: int, key: str) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    except OSError as error:
        # Which of the two errors a symbolic link gives depends on the flags and the kernel.
        if error.errno in {errno.ELOOP, errno.ENOTDIR} and stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode):
            raise _not_plain(key) from error
        raise


def _not_plain(key: str) -> CorruptError:
    return CorruptError(f"{key!r} is, or lies behind, a symbolic link or special file; replace it by a file", key=key)


def _find_file(folder: int, name: str, key: str) -> int | None:
    if _status(folder, name, key) is None:
        return None
    with suppress(FileNotFoundError):
        # Without O_NONBLOCK a named pipe put there since would block for ever.
        return _open_at(folder, name, os.O_RDONLY | os.O_NONBLOCK, key)
    return None


def _status(folder: int, name: str, key: str) -> os.stat_result | None:
    """Return what is known of a plain file; None if there is none, or a folder.

    Raises:
        CorruptError: there is something else, such as a link.
    """
    try:
        status = os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return None
    if stat.S_ISREG(status.st_mode):
        return status
    if stat.S_ISDIR(status.st_mode):
        return None
    raise _not_plain(key)


def _listed_status(folder: int, name: str) -> os.stat_result | None:
    """Return what is known of a plain file; None for anything else, which is no object and does not hide the others."""
    with suppress(FileNotFoundError):
        status = os.lstat(name, dir_fd=folder)
        if stat.S_ISREG(status.st_mode):
            return status
    return None


def _etag(status: os.stat_result) -> str:
    return f'"{status.st_mtime_ns:x}-{status.st_size:x}-{status.st_ino:x}"'


def _check_match(present: os.stat_result | None, if_match: str | None, key: str) -> None:
    if if_match is not None and (present is None or _etag(present) != if_match):
        raise PreconditionFailedError(f"{key!r} is not there or has another ETag")


def _stored_object(file: BinaryIO, size_max: int) -> StoredObject:
    # The status is taken first: should a person edit the file meanwhile, the ETag is the old one and the next look
    # finds the change.
    status = os.fstat(file.fileno())
    body = file.read(min(size_max, status.st_size))
    return StoredObject(body, _etag(status), is_truncated=status.st_size > size_max)


@contextmanager
def _temporary_file(folder: int, name: str, body: bytes, *, mtime_ns: int) -> Iterator[str]:
    """Write a file for the caller to move away; yields its ETag. Nobody else uses the name: its lock is held."""
    try:
        _discard(folder, name)  # A killed process may have left one.
        yield _write(folder, name, body, mtime_ns=mtime_ns)
    finally:
        _discard(folder, name)  # Moved away, there is none.


def _discard(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _discard_abandoned(folder: int, name: str, locks: int) -> None:
    """Remove a temporary file unless somebody holds its lock: its writer is only slow, or two clocks disagree."""
    with suppress(BlockingIOError), _closing(_open_at(locks, name, os.O_RDWR | os.O_CREAT, name)) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _discard(folder, name)


def _write(folder: int, name: str, body: bytes, *, mtime_ns: int) -> str:
    with os.fdopen(_open_at(folder, name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, name), "wb") as file:
        file.write(body)
        file.flush()
        os.utime(file.fileno(), ns=(mtime_ns, mtime_ns))
        os.fsync(file.fileno())
        status = os.fstat(file.fileno())
    if abs(status.st_mtime_ns - mtime_ns) >= _MTIME_TOLERANCE_NS:
        raise BackendError("this file system keeps time stamps too coarsely to tell one version from the next")
    return _etag(status)


def _sync(folder: int, key: str) -> None:
    try:
        os.fsync(folder)
    except OSError as error:
        raise UnknownOutcomeError(f"the change of {key!r} may be lost in a power cut: {error.strerror}") from error


def _walk(folder: int, path: str, prefix: str, start_after: str) -> Iterator[ListedObject]:
    """Yield the wanted objects below a folder in the order of their whole keys; ``path`` is empty or ends in '/'."""
    for name in _names(folder, path, prefix, start_after):
        key = path + name
        if not name.endswith("/"):
            status = _listed_status(folder, name)
            if status is not None:
                yield ListedObject(key, _etag(status), status.st_size, status.st_mtime_ns // 1_000_000)
            continue
        # A folder may vanish, or give way to a file, while the listing is under way.
        with (
            suppress(FileNotFoundError, NotADirectoryError),
            _closing(_open_at(folder, name[:-1], _OPEN_FOLDER, key)) as child,
        ):
            yield from _walk(child, key, prefix, start_after)


def _names(folder: int, path: str, prefix: str, start_after: str) -> list[str]:
    """Return names in a folder that are, or may hold, wanted objects; a subfolder's ends in '/' and sorts so."""
    with os.scandir(folder) as entries:
        names = [
            entry.name + "/" if entry.is_dir(follow_symlinks=False) else entry.name
            for entry in entries
            if _COMPONENT.fullmatch(entry.name)
        ]
    return sorted(name for name in names if _is_wanted(path + name, prefix, start_after))


def _is_wanted(path: str, prefix: str, start_after: str) -> bool:
    is_folder = path.endswith("/")
    has_prefix = path.startswith(prefix) or (is_folder and prefix.startswith(path))
    return (
        len(path) <= KEY_LENGTH_MAX
        and has_prefix
        and (path > start_after or (is_folder and start_after.startswith(path)))
    )
