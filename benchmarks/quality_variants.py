"""The same corpora as somebody else might store or ask them: what the default ranking must not depend on.

Each variant changes one thing: which facts are stored with a memory, in which order and under which ids, how long a
memory is, or how a question is put.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from benchmarks.quality_corpora import (
    LANGUAGES,
    LOCOMO,
    LONGMEMEVAL,
    NOTES_NAME,
    Corpus,
    Item,
    Space,
    read_document,
)
from s3_agent_memory.index.text.stop_words import STOP_WORDS

LONG_WORD_COUNT: Final = 300
_LANGUAGE_NAMES: Final = {"de": "German", "es": "Spanish", "ja": "Japanese"}


@dataclass(frozen=True, slots=True)
class Variant:
    """A changed corpus; ``is_remembered`` stores it one memory after the other instead of importing it."""

    corpus: Corpus
    is_remembered: bool = False


def variants(corpora: Iterable[Corpus]) -> Iterator[Variant]:
    """Yield the variants of the corpora that are there, and notes in other languages."""
    by_name = {corpus.name: corpus for corpus in corpora}
    for name, changes in _CHANGES.items():
        if name in by_name:
            for label, change in changes.items():
                yield Variant(_changed(by_name[name], f"{name}, {label}", change))
    if LOCOMO in by_name:
        yield Variant(by_name[LOCOMO].named(f"{LOCOMO}, remembered one by one"), is_remembered=True)
    if NOTES_NAME in by_name:
        yield from _languages(by_name[NOTES_NAME].spaces[0])


def _languages(notes: Space) -> Iterator[Variant]:
    """Yield questions in other languages about a namespace that has notes in all of them."""
    spaces = read_document(LANGUAGES, "languages").spaces
    items = (*notes.items, *(item for space in spaces for item in space.items))
    for space in spaces:
        yield Variant(Corpus(f"notes in {_LANGUAGE_NAMES[space.id]}", (replace(space, items=items),)))


def _changed(corpus: Corpus, name: str, change: Callable[[Space], Space]) -> Corpus:
    return Corpus(name, tuple(map(change, corpus.spaces)))


# What is stored ------------------------------------------------------------------------------------------------------


def _with_items(change: Callable[[Item], Item]) -> Callable[[Space], Space]:
    return lambda space: replace(space, items=tuple(map(change, space.items)))


def _session_only(item: Item) -> Item:
    return replace(item, author=None)


def _author_only(item: Item) -> Item:
    return replace(item, session=None)


def _name_in_text(item: Item) -> Item:
    return replace(item, text=f"{item.author}: {item.text}", author=None, session=None)


def _day_as_session(item: Item) -> Item:
    return replace(item, session=item.created_at[:10])


def _week_as_session(item: Item) -> Item:
    return replace(item, session=f"{item.created_at[:7]}-week-{int(item.created_at[8:10]) // 7}", author="me")


def _origin_as_session(item: Item) -> Item:
    return replace(item, session=item.origin)


def _reversed(space: Space) -> Space:
    return replace(space, items=space.items[::-1])


def _plain_ids(space: Space) -> Space:
    """Return a dialogue with ids that sort wrongly as text (D1-10 before D1-9) and one time for each conversation."""
    start = {session: next(turns).created_at for session, turns in groupby(space.items, key=lambda item: item.session)}
    items = (replace(item, id=_plain_id(item.id), created_at=start[item.session]) for item in space.items)
    questions = (replace(question, gold=frozenset(map(_plain_id, question.gold))) for question in space.questions)
    return replace(space, items=tuple(items), questions=tuple(questions))


def _plain_id(memory_id: str) -> str:
    return memory_id.replace(".", "-")


def _long(space: Space) -> Space:
    """Return the memories of each author put together, in their order, until every one has 300 words."""
    authors = sorted({item.author or "" for item in space.items})
    groups = [group for author in authors for group in _packed(it for it in space.items if (it.author or "") == author)]
    owner = {item.id: group[0].id for group in groups for item in group}
    items = (replace(group[0], text="\n\n".join(item.text for item in group)) for group in groups)
    questions = (replace(question, gold=frozenset(owner[one] for one in question.gold)) for question in space.questions)
    return replace(space, items=tuple(items), questions=tuple(questions))


def _packed(items: Iterable[Item]) -> Iterator[list[Item]]:
    group: list[Item] = []
    for item in items:
        group.append(item)
        if sum(len(one.text.split()) for one in group) >= LONG_WORD_COUNT:
            yield group
            group = []
    if group:
        yield group


# How it is asked -----------------------------------------------------------------------------------------------------


def _with_questions(change: Callable[[str, Space], str]) -> Callable[[Space], Space]:
    def changed(space: Space) -> Space:
        questions = (replace(one, text=change(one.text, space) or one.text) for one in space.questions)
        return replace(space, questions=tuple(questions))

    return changed


def _keywords(question: str, _: Space) -> str:
    words = re.findall(r"[\w']+", question)
    return " ".join(word for word in words if re.split("'", word.lower())[0] not in STOP_WORDS["english"])


def _without_names(question: str, space: Space) -> str:
    names = {item.author for item in space.items if item.author}
    pattern = "|".join(rf"\b{re.escape(name)}('s)?\b" for name in sorted(names))
    return " ".join(re.sub(pattern, "", question).split())


def _in_capitals(question: str, _: Space) -> str:
    return question.upper().rstrip("?")


_CHANGES: Final[Mapping[str, Mapping[str, Callable[[Space], Space]]]] = {
    LOCOMO: {
        "session only": _with_items(_session_only),
        "author only": _with_items(_author_only),
        "name in the text only": _with_items(_name_in_text),
        "plain ids, one time a session": _plain_ids,
        "imported backwards": _reversed,
        "keywords": _with_questions(_keywords),
        "questions without names": _with_questions(_without_names),
        "questions in capitals": _with_questions(_in_capitals),
    },
    LONGMEMEVAL: {
        "with sessions": _with_items(_origin_as_session),
        "300 words a memory": _long,
        "keywords": _with_questions(_keywords),
    },
    NOTES_NAME: {
        "a day as session": _with_items(_day_as_session),
        "a week as session, one author": _with_items(_week_as_session),
        "imported backwards": _reversed,
        "keywords": _with_questions(_keywords),
    },
}
