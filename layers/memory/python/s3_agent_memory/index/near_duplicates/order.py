"""The order of an English sentence: passive and active, an adverb here or there, "coffee and tea" or "tea and coffee".

Tokens are those of ``near_duplicates_english``. What is moved is moved only where nothing else can be meant.
"""

from typing import Final

from s3_agent_memory.index.near_duplicates import words as english

_TENSE: Final = "|"
_COMMA: Final = ","
_PASSIVE_LENGTH_MAX: Final = 64


def in_plain_order(tokens: list[str]) -> list[str]:
    """Return the tokens of a sentence in the order that stands for all that say the same; commas are left out."""
    tokens = _in_active_voice(tokens)
    tokens = _with_floats_last(tokens)
    tokens = _with_sorted_pairs(tokens)
    return _with_favorite_first([token for token in tokens if token != _COMMA])


def _in_active_voice(tokens: list[str]) -> list[str]:
    """Turn "Alice was paid by Bob" into "Bob paid Alice", where it is plain who did it."""
    if tokens.count("by") != 1 or _COMMA in tokens or len(tokens) > _PASSIVE_LENGTH_MAX:
        return tokens
    by = tokens.index("by")
    be = next((place for place in range(by - 1, 0, -1) if _lemma(tokens[place]) == "be"), None)
    verb = None if be is None else _participle_after(tokens, be, by)
    if be is None or verb is None:
        return tokens
    start = be
    while start > 0 and _is_auxiliary(tokens[start - 1]):
        start -= 1
    end = by + 1
    while end < len(tokens) and not _ends_actor(tokens[end]):
        end += 1
    patient, actor = tokens[:start], tokens[by + 1 : end]
    if not patient or not _is_actor(actor) or any(_TENSE in token for token in patient):
        return tokens
    active = _active_verb(tokens[start:be], tokens[be], tokens[verb])
    if active is None:
        return tokens
    return [*actor, *active[:-1], *tokens[be + 1 : verb], active[-1], *patient, *tokens[verb + 1 : by], *tokens[end:]]


def _participle_after(tokens: list[str], be: int, by: int) -> int | None:
    """Return where the participle stands that belongs to a form of "be", or None if there is another word before it."""
    for place in range(be + 1, by):
        if tokens[place].endswith("|en") or (_TENSE not in tokens[place] and tokens[place].endswith("ed")):
            return place
        if tokens[place] not in english.FLOATING | {"not", "never", "always"}:
            return None
    return None


def _is_auxiliary(token: str) -> bool:
    return token in english.MODALS or token in ("not", "never") or _lemma(token) in ("be", "have")


def _ends_actor(token: str) -> bool:
    is_time = token in english.WEEKDAYS or token in english.FLOATING
    return token in english.PREPOSITIONS or token in english.CONJUNCTIONS - {"and"} or is_time or token == "to"


def _is_actor(actor: list[str]) -> bool:
    """Return False for "by train", "by 5" and "by working hard", which say how or until when, not who."""
    if not actor:
        return False
    first = actor[0]
    is_means = first in ("train", "bus", "car", "hand", "plane", "airplane", "mistake", "phone", "email", "post", "far")
    is_time = first in english.DAYTIMES or first in english.MONTHS or first in ("next", "last", "then", "now")
    return not (is_means or is_time or first[0].isdigit() or first.endswith("ing"))


def _active_verb(auxiliaries: list[str], be: str, verb: str) -> list[str] | None:
    """Return the verb of the active voice with its auxiliaries, or None where its form is not known."""
    tense = be.partition(_TENSE)[2]
    lemma, is_known, _ = verb.partition(_TENSE)
    if is_known:
        return [*auxiliaries, f"{lemma}|{tense}"]
    # The past of a regular verb looks like its participle; of its other forms nothing is known here.
    return [*auxiliaries, verb] if tense in ("ed", "en") else None


def _with_floats_last(tokens: list[str]) -> list[str]:
    """Put "usually" or "on Tuesday", where there is one such and one clause, at the end."""
    lemmas = set(map(_lemma, tokens))
    if not lemmas.isdisjoint(english.CONJUNCTIONS | english.NEGATIONS):
        return tokens
    length = _leading_time(tokens)
    rest = tokens[length:]
    tokens = [*(rest[1:] if length and rest[:1] == [_COMMA] else rest), *tokens[:length]]
    floats = sorted(token for token in tokens if token in english.FLOATING)
    kept = [token for token in tokens if token not in english.FLOATING]
    return [*(kept[1:] if floats and kept[:1] == [_COMMA] else kept), *floats]


def _leading_time(tokens: list[str]) -> int:
    """Return how many tokens at the beginning say when."""
    if len(tokens) < 3:
        return 0
    if tokens[0] in ("last", "next", "this") and tokens[1] in english.PERIODS | english.WEEKDAYS:
        return 2
    if tokens[0] not in ("on", "in", "at", "every"):
        return 0
    for length in (4, 3, 2):
        span = tokens[1:length]
        if length < len(tokens) and all(_is_time(token) for token in span):
            return length
    return 0


def _is_time(token: str) -> bool:
    is_named = token in english.WEEKDAYS or token.removesuffix("s") in english.WEEKDAYS | english.DAYTIMES
    return (
        is_named
        or token in english.MONTHS
        or token[0].isdigit()
        or token.startswith("date:")
        or token in english.PERIODS
    )


def _with_sorted_pairs(tokens: list[str]) -> list[str]:
    """Sort "coffee and tea" where each is one word and nothing else can belong to it."""
    if tokens.count("and") != 1 or _COMMA in tokens:
        return tokens
    place = tokens.index("and")
    if place == 0 or place + 1 >= len(tokens):
        return tokens
    left, right = tokens[place - 1], tokens[place + 1]
    is_first = place == 1 and place + 2 < len(tokens) and _TENSE in tokens[place + 2]
    is_last = place + 2 == len(tokens) and place > 1 and _TENSE in tokens[place - 2]
    if _TENSE in left + right or not (is_first or is_last):
        return tokens
    first, second = sorted((left, right))
    return [*tokens[: place - 1], first, "and", second, *tokens[place + 2 :]]


def _with_favorite_first(tokens: list[str]) -> list[str]:
    """Turn "Blue is Alice's favorite color" round, so that the favorite comes first."""
    if tokens.count("favorite") != 1 or sum(_lemma(token) == "be" for token in tokens) != 1:
        return tokens
    place = next(number for number, token in enumerate(tokens) if _lemma(token) == "be")
    before, after = tokens[:place], tokens[place + 1 :]
    is_turned = "favorite" in after and not english.CONJUNCTIONS & set(tokens) and "not" not in tokens
    return [*after, tokens[place], *before] if is_turned else tokens


def _lemma(token: str) -> str:
    return token.partition(_TENSE)[0]
