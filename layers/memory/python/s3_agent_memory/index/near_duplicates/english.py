"""What an English sentence says, whatever words it chose: the rules behind ``near_duplicates_text``.

A sentence becomes tokens. A known verb is ``lemma|tense``, with the tenses "" (present), ``ed``, ``en`` and ``ing``; a
word of a class becomes the word that stands for it. Then phrases are replaced, and ``near_duplicates_order`` puts what
may stand in two places into one. Everything else stays where it is, in the form it has: who does what to whom, how
many, when, and whether at all.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from s3_agent_memory.index.near_duplicates import words as english
from s3_agent_memory.index.near_duplicates.order import in_plain_order
from s3_agent_memory.index.near_duplicates.phrases import PHRASES

_TENSE: Final = "|"
_ANY_TENSE: Final = "~"
_BE: Final = "be|"
_HAVE: Final = "have|"
# Stands for a few words inside a phrase that are kept.
_GAP: Final = "*"
_GAP_LENGTH_MAX: Final = 4
_IRREGULAR_FORMS: Final = {
    "am": "be|",
    "is": "be|",
    "are": "be|",
    "were": "be|ed",
    "has": "have|",
    "does": "do|",
    "goes": "go|",
}
_REWRITE_COUNT_MAX: Final = 64


def canonical_sentence(words: Sequence[str]) -> tuple[str, ...]:
    """Return what a sentence says.

    Args:
        words: in lower case, with commas as words of their own.
    """
    tokens = _tagged(_with_quantities(_with_whole_numbers([word for item in words for word in _expanded(item)])))
    tokens = [token for token in tokens if token not in english.ARTICLES]
    tokens = _without_do(tokens)
    tokens = _with_gerunds(tokens)
    tokens = _with_singular_allergens(_rephrased(tokens))
    tokens = _with_must(tokens)
    tokens = _without_fillers(tokens)
    return tuple(in_plain_order(tokens))


def _expanded(word: str) -> Iterator[str]:
    """Yield the words that a contraction, a number or a possessive stands for."""
    if word in english.CONTRACTIONS:
        yield from english.CONTRACTIONS[word].split()
        return
    for ending, meaning in english.ENDINGS.items():
        if word.endswith(ending) and len(word) > len(ending):
            yield word[: -len(ending)]
            yield meaning
            return
    if word.endswith("'s"):
        yield word[:-2]
        yield "'s"
    elif word.endswith("s'"):
        yield word[:-1]
        yield "'s"
    else:
        number = english.NUMBERS.get(word) or english.ORDINALS.get(word)
        yield from (number or word).split()


# --- words ------------------------------------------------------------------------------------------------------------


def _tagged(words: list[str]) -> list[str]:
    tokens: list[str] = []
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        tokens.append(_token(word, words[place - 1] if place else "", tokens, following))
    return tokens


def _with_whole_numbers(words: list[str]) -> list[str]:
    """Add up "thirty-four", whose words are numbers by now."""
    result: list[str] = []
    for word in words:
        is_unit = word.isdigit() and len(word) == 1 and word != "0"
        if is_unit and result and result[-1].isdigit() and len(result[-1]) == 2 and result[-1].endswith("0"):
            result[-1] = result[-1][0] + word
        else:
            result.append(word)
    return result


def _with_quantities(words: list[str]) -> list[str]:
    """Replace "a few", which without its article would say the opposite."""
    result: list[str] = []
    for word in words:
        quantity = english.QUANTITIES.get(word) if result[-1:] == ["a"] else None
        result[len(result) - (quantity is not None) :] = [quantity or word]
    return result


def _token(word: str, before: str, tokens: list[str], following: str) -> str:
    """Return the token of a word between its neighbours; those before it are tokens already."""
    if word == "'s":
        return _short_verb(before, following)
    previous = tokens[-1] if tokens else ""
    verb = _verb_forms().get(word)
    is_noun = before in english.NOMINAL or (_TENSE in previous and not previous.startswith("do|"))
    is_noun = is_noun or (_lacks_object(following) and word in _noun_forms() and before not in ("to", "not"))
    if verb in (_BE, _HAVE):
        return verb
    if verb is not None and verb.endswith("|ed") and _follows_auxiliary(tokens):
        # Many a past tense is a participle as well; a form of "be" or "have" before it tells.
        return verb[:-2] + "en"
    if verb is not None and word in _unchanging():
        return _unchanging_token(word, verb, tokens)
    if verb is not None and not (is_noun and verb.endswith(_TENSE)):
        return verb
    return _plain_token(word)


def _short_verb(before: str, following: str) -> str:
    """Return the token of an "'s" between two words: a verb, or the sign of a possessive."""
    if following in english.HAS_FOLLOWERS:
        return _HAVE
    is_verb = before in english.IS_HOSTS or following in english.IS_FOLLOWERS or following.endswith("ing")
    return _BE if is_verb else "'s"


def _lacks_object(following: str) -> bool:
    if following in ("", ",", "?", "'s") or following in english.PREPOSITIONS | english.CONJUNCTIONS | english.MODALS:
        return True
    return _verb_forms().get(following, "").startswith((_BE, _HAVE, "do|"))


@cache
def _noun_forms() -> frozenset[str]:
    return frozenset(form for word in english.VERBS_AND_NOUNS for form in (word, _third_person(word)))


def _unchanging_token(word: str, verb: str, tokens: list[str]) -> str:
    """Return the token of a form such as "put" or "run" that is a base form and a past or a participle as well."""
    is_past, is_participle = _unchanging()[word]
    if is_participle and _follows_auxiliary(tokens):
        return verb + "en"
    previous = tokens[-1] if tokens else ""
    is_base = not previous or previous in english.MODALS | {"to", "not"} or _TENSE in previous
    return verb if is_base or not is_past else verb + "ed"


@cache
def _unchanging() -> dict[str, tuple[bool, bool]]:
    """Return which base forms are a past tense as well, and which a participle."""
    forms = (item.split() for item in english.IRREGULAR.split(";"))
    return {base: (base == past, base == participle) for base, past, participle in forms if base in (past, participle)}


def _follows_auxiliary(tokens: list[str]) -> bool:
    last = next((token for token in reversed(tokens) if token not in english.BETWEEN_AUXILIARIES), "")
    return last.startswith((_BE, _HAVE))


def _plain_token(word: str) -> str:
    return english.PRONOUN_SUBJECTS.get(word) or _plain_classes().get(word, word)


@cache
def _verb_forms() -> dict[str, str]:
    """Return the token of every form of every known verb."""
    irregular = {forms[0]: forms[1:] for forms in (item.split() for item in english.IRREGULAR.split(";"))}
    found: dict[str, str] = {}
    for lemma, verbs in english.classes(english.VERBS):
        for verb in verbs:
            past, participle = irregular.get(verb, (_past(verb), _past(verb)))
            for form, tense in (
                (verb, ""),
                (_third_person(verb), ""),
                (past, "ed"),
                (participle, "ed" if participle == past else "en"),
                (_gerund(verb), "ing"),
            ):
                found.setdefault(form, f"{lemma}|{tense}")
    return found | _IRREGULAR_FORMS


@cache
def _plain_classes() -> dict[str, str]:
    found: dict[str, str] = {}
    for first, words in english.classes(english.OTHERS):
        found.update((word, first) for word in words)
    for first, words in english.classes(english.NOUNS):
        for word in words:
            found.setdefault(word, first)
            found.setdefault(_third_person(word), _third_person(first))
    return found


def _third_person(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    return word[:-1] + "ies" if word.endswith("y") and word[-2] not in "aeiou" else word + "s"


def _past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return _doubled(verb) + "ed"


def _gerund(verb: str) -> str:
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    is_mute = verb.endswith("e") and not verb.endswith("ee") and verb != "be"
    return (verb[:-1] if is_mute else _doubled(verb)) + "ing"


def _doubled(verb: str) -> str:
    """Return a verb with its last consonant twice if that is how its endings are joined: "plan" becomes "plann"."""
    is_closed = len(verb) > 2 and verb[-1] not in "aeiouwxy" and verb[-2] in "aeiou" and verb[-3] not in "aeiou"
    is_stressed = sum(letter in "aeiou" for letter in verb) == 1 or verb in ("forbid", "begin")
    return verb + verb[-1] if is_closed and is_stressed else verb


# --- phrases ----------------------------------------------------------------------------------------------------------


def _without_do(tokens: list[str]) -> list[str]:
    """Leave out the "do" of a negation: "does not buy" is "not buy", "did not buy" is "not bought"."""
    kept: list[str] = []
    tense = ""
    for place, token in enumerate(tokens):
        if token in ("do|", "do|ed") and tokens[place + 1 : place + 2] == ["not"]:
            verb = next((item for item in tokens[place + 2 : place + 4] if item.endswith(_TENSE)), None)
            if token == "do|" or verb is not None:
                tense = token.partition(_TENSE)[2]
                continue
        is_verb = bool(tense) and token.endswith(_TENSE)
        kept.append(token + tense if is_verb else token)
        tense = "" if is_verb else tense
    return kept


@cache
def _phrases() -> dict[str, list[tuple[list[str], list[str]]]]:
    """Return what each phrase becomes, by the first word of the phrase, the longest first."""
    found: dict[str, list[tuple[list[str], list[str]]]] = {}
    for line in PHRASES.split(";"):
        left, _, right = (side.strip() for side in line.partition("="))
        meaning = [_phrase_token(word) for word in right.split()]
        for width in range(1, 1 + (_GAP_LENGTH_MAX if _GAP in left else 1)):
            phrase = [_phrase_token(word) for word in left.replace(_GAP, " ".join(_GAP * width)).split()]
            found.setdefault(_lemma(phrase[0].rstrip(_ANY_TENSE)), []).append((phrase, meaning))
    return {first: sorted(items, key=lambda item: -len(item[0])) for first, items in found.items()}


def _phrase_token(word: str) -> str:
    if word.endswith(_ANY_TENSE):
        return _lemma(_verb_forms().get(word[:-1], word[:-1])) + _ANY_TENSE
    lemma, separator, tense = word.partition(_TENSE)
    if separator:
        return f"{_lemma(_verb_forms().get(lemma, lemma))}|{tense}"
    return _plain_token(word)


def _lemma(token: str) -> str:
    return token.partition(_TENSE)[0]


def _rephrased(tokens: list[str]) -> list[str]:
    for _ in range(_REWRITE_COUNT_MAX):
        changed = _rephrased_once(tokens)
        if changed == tokens:
            break
        tokens = changed
    return tokens


def _rephrased_once(tokens: list[str]) -> list[str]:
    result: list[str] = []
    place = 0
    while place < len(tokens):
        for phrase, meaning in _phrases().get(_lemma(tokens[place]), ()):
            said = _said_by(phrase, tokens[place : place + len(phrase)], meaning)
            if said is not None:
                result.extend(said)
                place += len(phrase)
                break
        else:
            result.append(tokens[place])
            place += 1
    return result


def _said_by(phrase: list[str], tokens: list[str], meaning: list[str]) -> list[str] | None:
    """Return the meaning of a phrase, with the tense and the words in the gap of the tokens; None if they differ."""
    if len(tokens) != len(phrase):
        return None
    tense, inside = "", list[str]()
    for wanted, token in zip(phrase, tokens, strict=True):
        lemma, separator, found = token.partition(_TENSE)
        if wanted == _GAP and not separator and token != "to":
            inside.append(token)
        elif wanted.endswith(_ANY_TENSE) and separator and lemma == wanted[:-1]:
            tense = separator + found
        elif wanted != token:
            return None
    said = [item[:-1] + tense if item.endswith(_ANY_TENSE) else item for item in meaning]
    place = said.index(_GAP) if _GAP in said else len(said)
    return [*said[:place], *inside, *said[place + 1 :]]


def _with_gerunds(tokens: list[str]) -> list[str]:
    """Turn "likes to hike" into "likes hiking", and what somebody loves doing into what they like doing."""
    result: list[str] = []
    for token in tokens:
        before = [_lemma(item) for item in result[-2:]]
        is_infinitive = before[1:] == ["to"] and before[0] in english.BEFORE_GERUNDS and _TENSE in result[-2]
        if is_infinitive and not english.MODALS & set(result[-3:-2]):
            result[-1:] = [_gerund_token(token)]
        else:
            result.append(token)
        if len(result) > 1 and before and _lemma(result[-2]) == "love" and result[-1].endswith("ing"):
            result[-2] = "like|" + result[-2].partition(_TENSE)[2]
    return result


def _gerund_token(token: str) -> str:
    return token + "ing" if token.endswith(_TENSE) else _gerund(token)


def _with_singular_allergens(tokens: list[str]) -> list[str]:
    """Turn "allergic to peanuts" into "allergic to peanut", as in "peanut allergy"."""
    return [
        token.removesuffix("s") if tokens[max(0, place - 2) : place] == ["allergic", "to"] else token
        for place, token in enumerate(tokens)
    ]


def _with_must(tokens: list[str]) -> list[str]:
    """Turn "has to" and "needs to" into "must", which it is as long as nothing is denied; and "never" into "not"."""
    if tokens and tokens[0] == "never":
        return ["not", *tokens[1:]]
    if not english.NEGATIONS.isdisjoint(map(_lemma, tokens)):
        return tokens
    result: list[str] = []
    for token in tokens:
        if token == "to" and result and result[-1] in ("have|", "need|"):
            result[-1] = "must"
        else:
            result.append(token)
    return result


def _without_fillers(tokens: list[str]) -> list[str]:
    if tokens and tokens[-1] in english.LAST_FILLERS:
        tokens = tokens[:-1]
    if not english.NEGATIONS.isdisjoint(map(_lemma, tokens)):
        return tokens
    return [token for token in tokens if token not in english.FILLERS]
