"""Which ids an import need not look at: their memories are there, alive, and in the index as they are."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Final

import numpy as np
import numpy.typing as npt

from s3_agent_memory.domain.keys import Namespace, memory_prefix, tombstone_prefix
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.index.id_table import IdTable
from s3_agent_memory.index.row import etag_hash
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.service.listing import ListedTruth, truth_pages
from s3_agent_memory.service.runtime import Runtime

_DIGEST_BYTES: Final = 16
_Digests = npt.NDArray[np.uint64]


class KnownIds:
    """Ids of memories that were listed with the very ETag that the index has for them, in 16 bytes each.

    What the index cannot vouch for (a tombstone, an expiry that is over, a row that is missing or another) is not among
    them, and is looked at with care.
    """

    def __init__(self, digests: _Digests) -> None:
        self._digests = digests[np.argsort(digests[:, 0], kind="stable")]

    @classmethod
    def none(cls) -> "KnownIds":
        """Return the value that knows nothing."""
        return cls(_digests_of([]))

    @classmethod
    def of(cls, runtime: Runtime, namespace: Namespace, snapshot: Snapshot) -> "KnownIds":
        """List a namespace and compare it with its index."""
        forgotten = cls(
            _joined(
                _digests_of([item.id for item in page])
                for page in truth_pages(runtime.store, tombstone_prefix(namespace))
            )
        )
        now_us = runtime.clock.now_us()

        def known(page: Sequence[ListedTruth]) -> _Digests:
            ids = [item.id for item in page]
            etags = np.fromiter((etag_hash(item.etag) for item in page), np.uint64, len(page))
            is_known = (_indexed_etags(snapshot, ids, now_us) == etags) & ~forgotten.has(ids)
            return np.asarray(_digests_of(ids)[is_known], np.uint64)

        pages = (page for kind in Kind for page in truth_pages(runtime.store, memory_prefix(namespace, kind)))
        return cls(_joined(map(known, pages)))

    def has(self, ids: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return which ids are among them."""
        if not len(self._digests) or not ids:
            return np.zeros(len(ids), np.bool_)
        wanted = _digests_of(ids)
        places = self._digests[:, 0].searchsorted(wanted[:, 0])
        found = self._digests.take(places, axis=0, mode="clip")
        return np.asarray((found == wanted).all(axis=1), np.bool_)


def _indexed_etags(snapshot: Snapshot, ids: Sequence[str], now_us: int) -> _Digests:
    """Return the ETag hash of the row that counts for each id; 0 if it is a deletion, expired, or not there."""
    table = IdTable.of(ids)
    etags, ranks = np.zeros(len(ids), np.uint64), np.zeros(len(ids), np.uint64)
    for segment in snapshot.segments:
        here, there = table.match(segment.id_table)
        is_better = segment.ranks[there] >= ranks[here]
        here, there = here[is_better], there[is_better]
        ranks[here] = segment.ranks[there]
        expires_us = segment.expires_us[there]
        is_alive = ~segment.is_deleted[there] & ((expires_us == 0) | (expires_us > now_us))
        etags[here] = np.where(is_alive, segment.etag_hashes[there], np.uint64(0))
    return etags


def _digests_of(ids: Sequence[str]) -> _Digests:
    body = b"".join(blake2b(memory_id.encode(), digest_size=_DIGEST_BYTES).digest() for memory_id in ids)
    return np.frombuffer(body, "<u8").reshape(-1, 2)


def _joined(parts: Iterable[_Digests]) -> _Digests:
    return np.concatenate([_digests_of([]), *parts])
