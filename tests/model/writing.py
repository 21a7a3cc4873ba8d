"""Rules that change memories."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis.stateful import initialize, multiple, rule
from hypothesis.strategies import booleans, lists, sampled_from

from s3_agent_memory.domain.memory import Memory
from s3_agent_memory.errors import ConflictError, ForgottenError, NotFoundError, ValidationError
from tests.model import inputs
from tests.model.dictionary import changed
from tests.model.world import World, ids, processes


class Writing(World):
    """Every rule writes to the store and to the dictionary, and checks that they agree on the outcome."""

    @initialize(
        target=ids,
        found=inputs.new_memories(min_size=4, max_size=10),
        ages_seconds=lists(inputs.steps_seconds, min_size=10, max_size=10),
    )
    def begin(self, found: list[inputs.NewMemory], ages_seconds: list[float]) -> Any:
        """Begin with some memories of different ages; many runs have few rules that write."""
        created = []
        for number, (new, seconds) in enumerate(zip(found, ages_seconds, strict=False)):
            created.append(self.create(number % 2, *new))
            self.clock.advance(seconds)
        return multiple(*created)

    @rule(target=ids, process=processes, found=inputs.new_memories(min_size=1, max_size=3))
    def remember(self, process: int, found: list[inputs.NewMemory]) -> Any:
        return multiple(*(self.create(process, *new) for new in found))

    @rule(process=processes, memory_id=ids, text=inputs.texts, fields=inputs.new_fields, resurrect=booleans())
    def remember_under_an_id(
        self, *, process: int, memory_id: str, text: str, fields: dict[str, Any], resurrect: bool
    ) -> None:
        expected = self.expected_new(memory_id, text, fields)
        refusal = self.model.refusal(memory_id, expected.kind, resurrect=resurrect, now_us=self.now_us)

        def remember() -> Memory:
            return self.memories(process).remember(self.namespace, text, id=memory_id, resurrect=resurrect, **fields)

        if refusal is not None:
            refused = raised_by(remember)
            assert (refused is ForgottenError) == (refusal is ForgottenError)
            assert issubclass(refused, ConflictError)
            return
        self.accept(remember(), replace(expected, version=self.model.next_version(memory_id)))

    @rule(
        process=processes,
        memory_id=ids,
        change=inputs.changes,
        expected=sampled_from(["any version", "any version", "the present version", "another version"]),
    )
    def update(self, process: int, memory_id: str, change: dict[str, Any], expected: str) -> None:
        present = self.model.visible(memory_id, self.now_us)
        version = 1 if present is None else present.version
        wanted = {"any version": None, "the present version": version, "another version": version + 1}[expected]
        arguments = {**change, "expected_version": wanted}

        def update() -> Memory:
            return self.memories(process).update(self.namespace, memory_id, **arguments)

        if not change:
            assert raised_by(update) is ValidationError
        elif present is None:
            assert raised_by(update) is NotFoundError
        elif expected == "another version":
            assert raised_by(update) is ConflictError
        else:
            self.accept(update(), self.expected_next(changed(present, self.with_expiry(change))))

    @rule(process=processes, memory_id=ids, reason=sampled_from([None, "asked to"]))
    def forget(self, process: int, memory_id: str, reason: str | None) -> None:
        if memory_id not in self.model.kinds:
            with pytest.raises(NotFoundError):
                self.memories(process).forget(self.namespace, memory_id, reason=reason)
            return
        self.memories(process).forget(self.namespace, memory_id, reason=reason)
        self.model.forget(memory_id)

    @rule(process=processes)
    def prune(self, process: int) -> None:
        expired = self.model.expired_ids(self.now_us)
        assert self.memories(process).prune_expired(self.namespace).forgotten == len(expired)
        for memory_id in expired:
            self.model.forget(memory_id)


def raised_by(action: Callable[[], object]) -> type[BaseException]:
    """Return the class of the error that an action ends with."""
    with pytest.raises(Exception) as caught:  # noqa: PT011  # The caller compares the class.
        action()
    return caught.type
