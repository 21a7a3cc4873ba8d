"""The one commit point of an index: reads and swaps the manifest."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from s3_agent_memory.domain.ids import new_nonce
from s3_agent_memory.domain.keys import Namespace, head_key, marker_key
from s3_agent_memory.errors import CorruptError, PreconditionFailedError, ThrottledError, UnknownOutcomeError
from s3_agent_memory.index.manifest import MANIFEST_BYTES_MAX, Manifest, decode_manifest, encode_manifest
from s3_agent_memory.service.file_writer import write_once
from s3_agent_memory.service.grace import SWAP_DOUBT_MAX_MS
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.storage.port import Get, ReadResult, StoredObject


class IndexBrokenError(CorruptError):
    """The index cannot be used and must be rebuilt from the objects."""


# Gives the next manifest; the same manifest if nothing is left to do; None to abandon the change.
Delta = Callable[[Manifest], Manifest | None]


@dataclass(frozen=True, slots=True)
class Head:
    """A manifest as read; ``etag`` is None if there is none yet."""

    manifest: Manifest
    etag: str | None


def decode_head(found: ReadResult, namespace: Namespace) -> Head:
    """Return the manifest from the result of its read.

    Raises:
        IndexBrokenError: the bytes are no manifest.
    """
    if not isinstance(found, StoredObject):
        return Head(Manifest(), None)
    key = head_key(namespace)
    if found.is_truncated:
        raise IndexBrokenError(f"{key} is larger than a manifest may be", key=key)
    try:
        return Head(decode_manifest(found.body, key), found.etag)
    except CorruptError as error:
        raise IndexBrokenError(str(error), key=key) from error


def head_request(namespace: Namespace, etag: str | None = None) -> Get:
    """Return the read of the manifest, conditional if an ETag is known."""
    return Get(head_key(namespace), MANIFEST_BYTES_MAX, etag)


class HeadStore:
    """Swaps manifests by compare-and-swap; the change is applied again to the fresh manifest after a lost race."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def load(self, namespace: Namespace) -> Head:
        """Return the present manifest, an empty one if there is none.

        Raises:
            IndexBrokenError: the stored manifest cannot be read.
        """
        found = self._runtime.store.get(head_key(namespace), size_max=MANIFEST_BYTES_MAX)
        return decode_head(found, namespace)

    def load_or_empty(self, namespace: Namespace) -> Head:
        """Return the present manifest; in place of one that cannot be read, an empty one with its ETag."""
        found = self._runtime.store.get(head_key(namespace), size_max=MANIFEST_BYTES_MAX)
        try:
            return decode_head(found, namespace)
        except IndexBrokenError:
            return Head(Manifest(), found.etag if found else None)

    def commit(self, namespace: Namespace, delta: Delta, *, replaces_corrupt: bool = False) -> Manifest | None:
        """Apply ``delta`` to the manifest and swap it in; return what is then there, or None if it was abandoned.

        Args:
            replaces_corrupt: take a manifest that cannot be read for an empty one, and replace it.

        Raises:
            ThrottledError: too many others swapped at the same time.
            UnknownOutcomeError: a swap got no answer, and so long ago that its files may be collected by now.
            IndexBrokenError: the stored manifest cannot be read.
        """
        load = self.load_or_empty if replaces_corrupt else self.load
        doubtful_since_ms: int | None = None
        for _ in self._runtime.retrier.attempts("swap the index manifest"):
            head = load(namespace)
            if doubtful_since_ms is not None and self._runtime.now_ms() - doubtful_since_ms > SWAP_DOUBT_MAX_MS:
                raise UnknownOutcomeError("a swap of the index manifest got no answer for too long")
            changed = delta(head.manifest)
            if changed is None or changed is head.manifest:
                return changed
            if head.etag is None:
                self.mark(namespace)
            swapped = replace(changed, version=head.manifest.version + 1, nonce=new_nonce(self._runtime.entropy))
            try:
                self._put(namespace, head.etag, swapped)
            except (PreconditionFailedError, ThrottledError):
                continue
            except UnknownOutcomeError:
                doubtful_since_ms = doubtful_since_ms or self._runtime.now_ms()
                if load(namespace).manifest.nonce != swapped.nonce:
                    continue
            return swapped
        return None

    def mark(self, namespace: Namespace) -> None:
        """Write the marker by which schedules find the namespace, as often as it takes to know that it is there.

        Raises:
            ThrottledError: the attempts are used up.
        """
        # Every attempt has the same bytes, so it does not matter whose is the one that landed.
        write_once(self._runtime, marker_key(namespace), b"", what="mark a namespace")

    def ensure_marker(self, namespace: Namespace) -> None:
        """Write the marker if it is not there: somebody may have removed it, or never got to write it.

        Raises:
            ThrottledError: the attempts are used up.
        """
        if self._runtime.store.get(marker_key(namespace), size_max=1) is None:
            self.mark(namespace)

    def _put(self, namespace: Namespace, etag: str | None, manifest: Manifest) -> None:
        self._runtime.store.put(head_key(namespace), encode_manifest(manifest), if_match=etag, if_absent=etag is None)
