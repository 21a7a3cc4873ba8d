"""Deliberate mistakes about facts that change: each breaks one rule, and the simulation must notice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from s3_agent_memory.index.snapshot import Snapshot
from s3_agent_memory.service.memories.forgetter import Forgetter
from s3_agent_memory.service.memories.history import History, KeptVersions
from s3_agent_memory.service.memories.selection import Verifier
from s3_agent_memory.service.memories.superseder import Superseder


def _nothing(*_arguments: Any, **_named: Any) -> Any:
    return None


def _names_nothing(original: Callable[..., Any]) -> Callable[..., Any]:
    def overtaken(self: Superseder, *arguments: Any) -> Any:
        return original(self, *arguments)[1:]

    return overtaken


def _without_erasing(original: Callable[..., Any]) -> Callable[..., Any]:
    def sweep(self: History, namespace: Any, truth: Any, *, is_known: Any) -> int:
        return int(original(self, namespace, truth, is_known=lambda _: True))

    return sweep


MUTATIONS: dict[str, Callable[[], Any]] = {
    "forgetting_ends_nothing": lambda: patch.object(Forgetter, "_end_superseded", _nothing),
    "readers_know_no_succession": lambda: patch.object(Snapshot, "timeline", None),
    "a_newer_object_is_not_looked_up": lambda: patch.object(Verifier, "_is_ended", lambda *_: False),
    "forgets_leave_earlier_versions": lambda: patch.object(History, "erase", _nothing),
    "the_sweep_leaves_earlier_versions": lambda: patch.object(History, "sweep", _without_erasing(History.sweep)),
    "updates_keep_nothing": lambda: patch.object(KeptVersions, "keep", _nothing),
    "superseders_name_nothing": lambda: patch.object(Superseder, "_overtaken", _names_nothing(Superseder._overtaken)),
}


@contextmanager
def applied(name: str) -> Iterator[None]:
    """Make one mistake as long as the context lasts."""
    with ExitStack() as stack:
        stack.enter_context(MUTATIONS[name]())
        yield
