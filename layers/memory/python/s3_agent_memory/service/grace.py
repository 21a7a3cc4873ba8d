"""How long things are kept for slow readers and writers, in milliseconds. Clocks guard garbage collection only.

Every figure is longer, by far, than what it protects against: the longest life of a function is 15 minutes.
"""

from typing import Final

_SECOND: Final = 1_000
_HOUR: Final = 3_600 * _SECOND

# A reader that needed longer between its LIST of the log and its HEAD starts again.
READ_GAP_MS: Final = 30 * _SECOND
# Log entries are deleted this long after a commit stamped them: twice the longest gap of a reader.
LOG_GRACE_MS: Final = 60 * _SECOND
# Replaced segments stay for readers that hold an older manifest; less long when there are very many of them.
TRASH_GRACE_MS: Final = _HOUR
TRASH_CROWDED_GRACE_MS: Final = _HOUR // 6
TRASH_CROWDED_COUNT: Final = 128
# Files no manifest answers for are uploads under way, until they are this old.
ORPHAN_AGE_MS: Final = 24 * _HOUR
# A committer refuses to commit an upload that is older: it could be collected at any moment.
UPLOAD_AGE_MAX_MS: Final = ORPHAN_AGE_MS // 2
# A swap that got no answer may have happened; after this long its files may have been replaced and collected.
SWAP_DOUBT_MAX_MS: Final = TRASH_CROWDED_GRACE_MS // 2
# Deletion rows stay this long, else an indexer that stalled could bring a forgotten row back.
DELETION_AGE_MS: Final = 7 * 24 * _HOUR
# Vectors of another model stay for processes that still use it, until the namespace has had its own for this long.
MODEL_GRACE_MS: Final = 24 * _HOUR
# An object without a log entry is a write under way, until it is this old.
WRITE_AGE_MAX_MS: Final = 60 * _SECOND
