"""Which rows a search may return at all, decided before ranking by posting lists and columns.

What the index cannot decide (such as an order on a value in ``data``) passes here; whoever returns memories verifies
every condition on the memory itself.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from s3_agent_memory.domain.filters import TIME_FIELDS, Condition
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.validity import Moment
from s3_agent_memory.index.id_table import Positions
from s3_agent_memory.index.row import KIND_CODES
from s3_agent_memory.index.segment import Segment
from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.index.terms import OVERFLOW, TAG, condition_term, may_overflow, term_hash

Mask = npt.NDArray[np.bool_]

_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Eligibility:
    """What rows must satisfy: kind, all tags, all conditions, not to be expired at ``now_us``, and to be true.

    Attributes:
        true_at: when they must be true; None lets pass what is superseded, absorbed, over or still to come.
    """

    kind: Kind | None
    tags: tuple[str, ...]
    conditions: tuple[Condition, ...]
    now_us: int
    true_at: Moment | None = None

    def docs(self, snapshot: Snapshot) -> Positions:
        """Return all live eligible rows as ascending document numbers."""
        docs = self._listed_docs(snapshot)
        docs = snapshot.live_docs() if docs is None else docs[snapshot.is_live[docs]]
        kept = self.keep(snapshot, docs)
        return docs if kept is None else docs[kept]

    def mask(self, snapshot: Snapshot) -> Mask | None:
        """Return which rows are live and eligible, by document number; None means all live ones."""
        if self._is_open(snapshot):
            return None
        mask = np.zeros(snapshot.doc_count, np.bool_)
        mask[self.docs(snapshot)] = True
        return mask

    def keep(self, snapshot: Snapshot, docs: Positions) -> Mask | None:
        """Return which of some rows (ascending document numbers) are eligible; None means all of them."""
        if self._is_open(snapshot):
            return None
        is_true = None if self.true_at is None else snapshot.is_true_at(self.true_at)
        mask: Mask | None = None if is_true is None else is_true[docs]
        for segment, part, rows in snapshot.parts(docs):
            kept = self._keep_in(segment, rows)
            if kept is not None:
                mask = np.ones(len(docs), np.bool_) if mask is None else mask
                mask[part] &= kept
        return mask

    def _is_open(self, snapshot: Snapshot) -> bool:
        is_open = self.kind is None and not self.tags and not self.conditions
        never_expires = not any(len(segment.expiring) for segment in snapshot.segments)
        return is_open and never_expires and self._needs_no_time(snapshot)

    def _needs_no_time(self, snapshot: Snapshot) -> bool:
        return self.true_at is None or (self.true_at.is_present and snapshot.timeline is None)

    def _listed_docs(self, snapshot: Snapshot) -> Positions | None:
        """Return the rows of one posting list that all eligible rows are in, or None if there is no such list."""
        terms = [term_hash(TAG, tag) for tag in self.tags]
        terms += [term for item in self.conditions if not may_overflow(item) and (term := condition_term(item))]
        if not terms:
            return None
        shortest = [
            min((segment.docs_with(term) for term in terms), key=len).astype(np.int64) + base
            for segment, base in zip(snapshot.segments, snapshot.bases, strict=False)
        ]
        return np.concatenate([np.zeros(0, np.int64), *shortest])

    def _keep_in(self, segment: Segment, rows: Positions) -> Mask | None:
        masks = [_has_term(segment, rows, term_hash(TAG, tag)) for tag in self.tags]
        if self.kind is not None:
            masks.append(segment.kinds[rows] == KIND_CODES[self.kind])
        if len(segment.expiring):
            expires_us = segment.expires_us[rows]
            masks.append((expires_us == 0) | (expires_us > self.now_us))
        decided = (_satisfies(segment, rows, condition) for condition in self.conditions)
        masks.extend(mask for mask in decided if mask is not None)
        return _mask(np.logical_and.reduce(masks)) if masks else None


def _satisfies(segment: Segment, rows: Positions, condition: Condition) -> Mask | None:
    """Return which rows may satisfy a condition, or None if the index cannot tell."""
    field = condition.path[0]
    term = condition_term(condition)
    if term is not None:
        return _has_term(segment, rows, term, is_partial=may_overflow(condition))
    if field in TIME_FIELDS:
        return _satisfies_time(getattr(segment, f"{field.removesuffix('_at')}_us")[rows], condition)
    if field == "importance":
        return _satisfies_importance(segment.importances[rows], condition)
    if condition.operator in ("$eq", "$ne") and isinstance(condition.value, str) and field in ("kind", "id"):
        is_named = _is_named(segment, rows, field, condition.value)
        return is_named if condition.operator == "$eq" else ~is_named
    return None


def _is_named(segment: Segment, rows: Positions, field: str, value: str) -> Mask:
    if field == "kind":
        codes = [code for kind, code in KIND_CODES.items() if kind == value]
        return np.isin(segment.kinds[rows], codes)
    return np.isin(rows, [position for position in [segment.find(value)] if position is not None])


def _satisfies_time(values: npt.NDArray[np.int64], condition: Condition) -> Mask | None:
    """Compare moments in microseconds; no expiry (0) equals null, and like null it has no order."""
    is_null = values == 0 if condition.path[0] == "expires_at" else np.zeros(len(values), np.bool_)
    if condition.value is None:
        decided = {"$eq": is_null, "$ne": ~is_null}
        return decided.get(condition.operator, np.zeros(len(values), np.bool_))
    if isinstance(condition.value, bool) or not isinstance(condition.value, int):
        return None
    mask = _mask(_COMPARISONS[condition.operator](values, condition.value))
    return mask if condition.operator == "$ne" else mask & ~is_null


def _satisfies_importance(values: npt.NDArray[np.float32], condition: Condition) -> Mask | None:
    """Compare importances as float32 like the column, so that rounding never shuts a row out."""
    wanted = condition.value
    if condition.operator == "$ne" or isinstance(wanted, bool) or not isinstance(wanted, (int, float)):
        return None
    bound = np.float32(min(max(wanted, -1), 2))
    rounded_operator = {"$gt": "$gte", "$lt": "$lte"}.get(condition.operator, condition.operator)
    return _mask(_COMPARISONS[rounded_operator](values, bound))


def _has_term(segment: Segment, rows: Positions, term: int, *, is_partial: bool = False) -> Mask:
    has_term = np.zeros(segment.row_count, np.bool_)
    has_term[segment.docs_with(term)] = True
    if is_partial:
        has_term[segment.docs_with(OVERFLOW)] = True
    return has_term[rows]


def _mask(values: Any) -> Mask:
    return np.asarray(values, dtype=np.bool_)
