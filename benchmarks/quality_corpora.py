"""Corpora of memories and questions with known answers, in one form.

Three corpora are not part of this project and are read from a directory; they serve evaluation only:

- ``locomo*.json``: LoCoMo (Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents", ACL 2024).
  One turn of a dialogue is one memory, one dialogue one namespace.
- ``longmemeval-evidence.json``: turns of LongMemEval (Wu et al., ICLR 2025) that hold an answer, in one namespace.
- ``madial-en.json``: MADial-Bench, short notes about one person.

The last two are documents of the form of ``notes_corpus.json``, which is this project's own.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
NOTES: Final = ROOT / "benchmarks" / "notes_corpus.json"
LANGUAGES: Final = ROOT / "benchmarks" / "notes_languages.json"

LOCOMO: Final = "LoCoMo"
POOLED: Final = "LoCoMo in one namespace"
LONGMEMEVAL: Final = "LongMemEval evidence"
MADIAL: Final = "MADial-EN"
NOTES_NAME: Final = "notes"

WHERE_FROM: Final = (
    "only the notes of this project are measured. For the public corpora name a directory with --data that holds "
    "locomo10.json (data/ of https://github.com/snap-research/locomo), and longmemeval-evidence.json (turns of "
    "https://github.com/xiaowu0162/LongMemEval) and madial-en.json (https://github.com/hejunqing/MADial-Bench) in the "
    "form of benchmarks/notes_corpus.json"
)
_LOCOMO_CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One memory of a corpus: its text and what is known about it.

    Attributes:
        created_at: RFC 3339.
        author: a name or a role.
        session: the conversation that it is a turn of.
        origin: where the corpus took it from, for variants that put turns together again.
    """

    id: str
    text: str
    created_at: str
    kind: str = "episodic"
    author: str | None = None
    session: str | None = None
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the ids of the memories that answer it, and what kind of question it is."""

    text: str
    gold: frozenset[str]
    type: str


@dataclass(frozen=True, slots=True)
class Space:
    """Memories of one namespace, oldest first, and questions about them."""

    id: str
    items: tuple[Item, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Spaces that are averaged over together, question by question."""

    name: str
    spaces: tuple[Space, ...]

    @property
    def question_count(self) -> int:
        """Questions of all spaces."""
        return sum(len(space.questions) for space in self.spaces)

    def named(self, name: str) -> "Corpus":
        """Return the same corpus under another name."""
        return replace(self, name=name)


def find_data() -> Path | None:
    """Return a directory ``data`` with LoCoMo in a directory beside this repository, if there is one."""
    return next((path.parent for path in sorted(ROOT.parent.glob("*/data/locomo*.json"))), None)


def read_corpora(data: Path | None) -> list[Corpus]:
    """Return the corpora of a directory, as far as they are there, and the notes of this project."""
    return [*(_read_public(data) if data else ()), read_document(NOTES, NOTES_NAME)]


def _read_public(data: Path) -> Iterator[Corpus]:
    locomo = next(iter(sorted(data.glob("locomo*.json"))), None)
    if locomo:
        yield read_locomo(locomo)
    for name, file_name in ((LONGMEMEVAL, "longmemeval-evidence.json"), (MADIAL, "madial-en.json")):
        if (data / file_name).is_file():
            yield read_document(data / file_name, name)


def read_document(path: Path, name: str) -> Corpus:
    """Return a corpus of the form of ``notes_corpus.json``."""
    return Corpus(name, tuple(map(_read_space, json.loads(path.read_text("utf-8"))["spaces"])))


def _read_space(document: Mapping[str, Any]) -> Space:
    items = tuple(_read_item(memory) for memory in document["memories"])
    questions = (Question(one["q"], frozenset(one["gold"]), one["type"]) for one in document["questions"])
    return Space(document["id"], items, tuple(questions))


def _read_item(memory: Mapping[str, Any]) -> Item:
    return Item(
        id=memory["id"],
        text=memory["text"],
        created_at=memory["created_at"],
        kind=memory.get("kind", "episodic"),
        author=memory.get("author"),
        session=memory.get("session"),
        origin=memory.get("origin"),
    )


def pool(corpus: Corpus, name: str) -> Corpus:
    """Return all spaces of a corpus as a single one; ids get the name of their space in front."""
    items = tuple(replace(item, id=f"{space.id}.{item.id}") for space in corpus.spaces for item in space.items)
    questions = tuple(
        replace(question, gold=frozenset(f"{space.id}.{one}" for one in question.gold))
        for space in corpus.spaces
        for question in space.questions
    )
    return Corpus(name, (Space("pool", items, questions),))


def thin(corpus: Corpus, *, step: int) -> Corpus:
    """Return every ``step``-th question of the first spaces of a corpus, for a quick look."""
    spaces = (replace(space, questions=space.questions[::step]) for space in corpus.spaces[:2])
    return Corpus(corpus.name, tuple(spaces))


# LoCoMo --------------------------------------------------------------------------------------------------------------


def read_locomo(path: Path) -> Corpus:
    """Return LoCoMo with the categories that ask for something the dialogue holds (1 to 4)."""
    return Corpus(LOCOMO, tuple(map(_read_dialogue, json.loads(path.read_text("utf-8")))))


def _read_dialogue(sample: Mapping[str, Any]) -> Space:
    conversation = sample["conversation"]
    names = sorted((name for name in conversation if re.fullmatch(r"session_\d+", name)), key=lambda n: int(n[8:]))
    items = tuple(
        item
        for name in names
        for item in _read_turns(f"{sample['sample_id']}/{name}", conversation[f"{name}_date_time"], conversation[name])
    )
    ids = {item.id for item in items}
    questions = (_read_question(document, ids) for document in sample["qa"] if document["category"] <= 4)
    return Space(sample["sample_id"], items, tuple(question for question in questions if question.gold))


def _read_turns(session: str, date: str, turns: Sequence[Mapping[str, str]]) -> Iterator[Item]:
    start = datetime.strptime(date.replace(",", ""), "%I:%M %p on %d %B %Y").replace(tzinfo=UTC)
    for position, turn in enumerate(turns):
        caption = turn.get("blip_caption")
        yield Item(
            id=turn["dia_id"].replace(":", "."),
            text=turn["text"] + (f" [image: {caption}]" if caption else ""),
            # Seconds keep the order of the turns; the data has one time a session.
            created_at=(start + timedelta(seconds=position)).isoformat(),
            author=turn["speaker"],
            session=session,
        )


def _read_question(document: Mapping[str, Any], ids: set[str]) -> Question:
    # Several turns may share one string, numbers may be padded with zeros, and some name turns that do not exist.
    named = [f"D{int(a)}.{int(b)}" for text in document["evidence"] for a, b in re.findall(r"D?:?(\d+):(\d+)", text)]
    return Question(document["question"], frozenset(named) & ids, _LOCOMO_CATEGORIES[document["category"]])
