"""Lines of an import: each is stored as it says or reported with its number, and never spoils the others."""

import json
from functools import partial
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from s3_agent_memory.bootstrap import MemoryStore, Parts, Settings
from s3_agent_memory.domain.codec import encode_memory
from tests.fakes.clock import FakeClock
from tests.fakes.entropy import SeededEntropy
from tests.fuzz.damage import damaged, odd_bodies
from tests.fuzz.refusals import refusal_code
from tests.fuzz.test_stored_json import MEMORY

NAMESPACE = "users/bob"
MORE_EXAMPLES = settings(max_examples=3 * settings().max_examples)
LINE = encode_memory(MEMORY)
INTACT = json.dumps({"content": "intact", "id": "intact"})


def opened() -> MemoryStore:
    return Parts(Settings(url="memory://"), clock=FakeClock(), entropy=SeededEntropy()).memories


def outcome_count(report: Any) -> int:
    return report.imported + report.overwritten + report.skipped + report.refused + len(report.errors)


@MORE_EXAMPLES
@given(line=odd_bodies(LINE), overwrite=st.booleans(), resurrect=st.booleans())
def test_any_line_is_stored_or_reported(line: bytes, overwrite: bool, resurrect: bool) -> None:
    store = opened()
    report = store.import_(NAMESPACE, [line, INTACT], overwrite=overwrite, resurrect=resurrect)
    assert outcome_count(report) == 1 + bool(line.strip())
    assert [error.line for error in report.errors] in ([], [1])
    assert "intact" in {json.loads(text)["id"] for text in store.export(NAMESPACE)}
    assert store.stats(NAMESPACE).memories == report.imported


@MORE_EXAMPLES
@given(odd_bodies(LINE))
def test_what_an_import_brings_in_can_be_read_changed_forgotten_and_brought_back(line: bytes) -> None:
    store = opened()
    store.import_(NAMESPACE, [line])
    for memory in [json.loads(text) for text in store.export(NAMESPACE)]:
        memory_id, kind = memory["id"], memory["kind"]
        update = partial(store.update, NAMESPACE, memory_id, importance=0.25)
        resurrect = partial(store.remember, NAMESPACE, "again", id=memory_id, kind=kind, resurrect=True)
        assert refusal_code(update) in (None, "validation")
        assert store.get(NAMESPACE, memory_id).content == memory["content"]
        store.forget(NAMESPACE, memory_id)
        if refusal_code(resurrect) != "validation":
            assert store.get(NAMESPACE, memory_id).content == "again"


@given(st.lists(st.one_of(st.binary(max_size=30), st.text(st.characters(), max_size=30), damaged(LINE)), max_size=5))
def test_any_lines_have_one_outcome_each(lines: list[str | bytes]) -> None:
    report = opened().import_(NAMESPACE, lines)
    assert outcome_count(report) == sum(bool(line.strip()) for line in lines)


def test_the_last_version_and_the_last_moment_cannot_be_passed() -> None:
    store = opened()
    lines = [
        json.dumps({"content": "text", "id": "version", "version": 2**53}),
        json.dumps({"content": "text", "id": "moment", "updated_at": "9999-12-31T23:59:59.999999Z"}),
    ]
    assert store.import_(NAMESPACE, lines).imported == 2
    for memory_id in ("version", "moment"):
        assert refusal_code(partial(store.update, NAMESPACE, memory_id, content="changed")) == "validation"
        assert store.get(NAMESPACE, memory_id).content == "text"
