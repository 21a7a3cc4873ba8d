"""A directory that notes what becomes of the index in it."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from s3_agent_memory import names
from s3_agent_memory.bootstrap import Parts, Settings
from s3_agent_memory.domain.clock import Clock, SystemEntropy
from s3_agent_memory.index.manifest import MANIFEST_BYTES_MAX, Manifest, decode_manifest
from s3_agent_memory.storage.filesystem import FilesystemObjectStore


class WatchedDirectory(FilesystemObjectStore):
    """A directory that counts what the commits made through it did.

    Attributes:
        events: ``folds``, ``merges`` and ``rebuilds`` (whole groups of segments replaced), ``clean-ups`` (of the log
            entries of a fold), ``collections`` (of a segment in the trash), and deleted ``log entries`` and
            ``segment files``.
    """

    def __init__(self, root: Path, *, clock: Clock) -> None:
        super().__init__(root, clock=clock, entropy=SystemEntropy())
        self.events: Counter[str] = Counter()

    def put(self, key: str, body: bytes, *, if_match: str | None = None, if_absent: bool = False) -> str:
        """See ``ObjectStore``."""
        if not key.endswith(names.HEAD_NAME):
            return super().put(key, body, if_match=if_match, if_absent=if_absent)
        # If the swap succeeds, this is what it replaced: nothing else has its ETag.
        present = self.get(key, size_max=MANIFEST_BYTES_MAX)
        etag = super().put(key, body, if_match=if_match, if_absent=if_absent)
        before = Manifest() if present is None else decode_manifest(present.body, key)
        self._note(before, decode_manifest(body, key))
        return etag

    def delete_many(self, keys: Sequence[str]) -> None:
        """See ``ObjectStore``."""
        super().delete_many(keys)
        self.events["log entries"] += sum(names.LOG_FOLDER in key for key in keys)
        self.events["segment files"] += sum(names.SEGMENT_FOLDER in key for key in keys)

    def _note(self, before: Manifest, after: Manifest) -> None:
        folds = [{fold.segment_id for fold in manifest.folds} for manifest in (before, after)]
        trash = [{item.file_id for item in manifest.trash} for manifest in (before, after)]
        self.events["folds"] += len(folds[1] - folds[0])
        self.events["clean-ups"] += len(folds[0] - folds[1])
        self.events["collections"] += len(trash[0] - trash[1])
        replaced = before.segment_ids - after.segment_ids
        # A merge leaves segments alone whose log entries still exist; only a rebuild replaces them.
        if replaced:
            self.events["rebuilds" if replaced & folds[0] else "merges"] += 1


def open_parts(root: Path, clock: Clock) -> tuple[Parts, WatchedDirectory]:
    """Open the store in a directory afresh, under a clock of one's own."""
    store = WatchedDirectory(root, clock=clock)
    return Parts(Settings(url=f"file://{root}"), store=store, clock=clock), store
