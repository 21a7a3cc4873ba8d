"""A conversation on the deployed stack: what leaves the window wakes the digester and becomes long-term memory."""

from functools import partial
from typing import Any

from tests.e2e.api import Caller, NewCaller
from tests.e2e.waiting import wait_for

_EVENT_SECONDS = 180
_SESSION = "holiday"
_TURN_COUNT = 60
# About a hundred tokens, so that some of the turns do not fit into the window.
_CHATTER = "and then we talked about the weather, the food and the people we had met on the way there " * 4


def write_turns(caller: Caller) -> int:
    """Write a long conversation in one request; return the status it is answered with."""
    turns = [{"role": "user", "content": f"Stop {number}: {_CHATTER}"} for number in range(_TURN_COUNT)]
    attribution = {"agent_client_id": "guide", "session_id": _SESSION}
    return caller.send("POST", "/v1/write", {"attribution": attribution, "turns": turns}).status_code


def recollection(caller: Caller) -> Any:
    return caller.ask("POST", "/v1/list", {"scope": {"level": "session", "session_id": _SESSION}})


def has_all_turns(caller: Caller) -> bool:
    """Return True once window and long-term memory hold every turn between them."""
    found = recollection(caller)
    texts = [fact["memory"] for fact in found["long_term"]["facts"]]
    texts += [content for _, content in found["short_term"]["window"]]
    return all(any(f"Stop {number}:" in text for text in texts) for number in range(_TURN_COUNT))


def test_turns_that_left_the_window_become_long_term_memories(new_caller: NewCaller) -> None:
    caller = new_caller("talks/alice")

    assert write_turns(caller) == 202
    wait_for(partial(has_all_turns, caller), what="the digester to take in the turns", seconds=_EVENT_SECONDS)
    assert recollection(caller)["medium_term"]["summary"]
