"""Deliberate mistakes of imports in bulk, and of the event feed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final
from unittest.mock import patch

from s3_agent_memory.service.events import feed
from s3_agent_memory.service.transfer import bulk_writer

_DICE: Final = 1_500

Mistake = tuple[str, Callable[[], list[Any]], int]


def _told_in_silence() -> list[Any]:
    original = feed.EventsFeed._look

    def look(self: Any, *args: Any, **options: Any) -> Any:
        present = original(self, *args, **options)
        if present is None:
            return None
        tail = {feed._told(item.row) for item in present.tail.values()}
        return replace(present, rows=replace(present.rows, told=present.rows.told | tail))

    return [patch.object(feed.EventsFeed, "_look", look)]


def _left_in_part() -> list[Any]:
    original = feed._fresh_ids

    def fresh_ids(manifest: Any, known: Any) -> Any:
        return [item for item in original(manifest, known) if item in manifest.segment_ids]

    return [patch.object(feed, "_fresh_ids", fresh_ids)]


TRANSFER_MUTATIONS: Final[Mapping[str, Mistake]] = {
    "import_acknowledged_before_it_shows": (
        "lines are acknowledged without the segment that shows them",
        lambda: [patch.object(bulk_writer.BulkIndexer, "commit", lambda *_args, **_options: None)],
        _DICE,
    ),
    "feed_serves_any_cursor": (
        "what was told from the log alone is not looked for when its entry is gone",
        lambda: [patch.object(feed.EventsFeed, "_check_told", lambda *_args: None)],
        _DICE,
    ),
    "feed_leaves_what_it_told_in_part": (
        "a segment that was told in part and then replaced is passed over",
        _left_in_part,
        _DICE,
    ),
    "feed_tells_in_silence": ("an entry of the log counts as told, and is not", _told_in_silence, _DICE),
    "feed_misses_the_vanished": (
        "what left the index without a row of its own is not told",
        lambda: [patch.object(feed.EventsFeed, "_vanished", lambda *_args: [])],
        _DICE,
    ),
}
