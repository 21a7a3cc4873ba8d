"""What each function really asks of S3, recorded: the services behind its handler, on a bucket with a past."""

import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any
from unittest.mock import patch

from aws_lambda_powertools import Logger

from s3_agent_memory.domain.access import AccessSettings
from s3_agent_memory.domain.consolidation import merged_memory
from s3_agent_memory.domain.keys import TruthKey, parse_namespace
from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.limits import Limits
from s3_agent_memory.domain.scopes import Contributor, make_scope
from s3_agent_memory.domain.session_keys import session_of
from s3_agent_memory.domain.tiers import FailureMode
from s3_agent_memory.edge.http import auth as http_auth
from s3_agent_memory.edge.mcp.endpoint import McpEndpoint
from s3_agent_memory.errors import AgentMemoryError, AuthenticationError
from s3_agent_memory.service.conversations.conversation import ConversationService
from s3_agent_memory.service.prompting.summarising import LongestSummariser
from s3_agent_memory.service.store.consolidation_round import RESERVE_MS, ConsolidationRound
from s3_agent_memory.service.upkeep import housekeeper
from tests.infra.past import FOLD_INLINE_ENTRY_COUNT, MERGE_COUNT, NAMESPACE, PLACE, WAITS_MS, WINDOW_TOKENS, Past
from tests.infra.policies import Call
from tests.infra.recorded_bucket import versioned_bucket

ALICE = Contributor(principal="alice")
LIMITS = Limits()
_SESSION_COUNT = 2
# Each turn takes more than one token.
_TURN_COUNT = WINDOW_TOKENS // 4
_ENOUGH_MS = 300_000
_DAY_MS = 86_400_000


def http_api(past: Past) -> None:
    """Every operation of the API, and the emergency in which a writer folds."""
    memories = past.parts.memories
    for kind in Kind:
        made = memories.remember(NAMESPACE, "something", kind=kind)
        memories.update(NAMESPACE, made.id, content="something else")
        memories.forget(NAMESPACE, made.id)
        memories.remember(NAMESPACE, "chosen", kind=kind, id=f"chosen-{kind}")
        memories.forget(NAMESPACE, f"chosen-{kind}")
        memories.remember(NAMESPACE, "again", kind=kind, id=f"chosen-{kind}", resurrect=True)
        _try(lambda: memories.get(NAMESPACE, "missing"))
    memories.recall(NAMESPACE, "something")
    memories.list(NAMESPACE)
    memories.stats(NAMESPACE)
    list(memories.namespaces())
    list(memories.export(NAMESPACE))
    memories.import_(NAMESPACE, ['{"content": "imported"}'] * 3)
    for _ in range(2):
        memories.remember(NAMESPACE, "said twice")
    memories.undo_consolidation(NAMESPACE, memories.consolidate(NAMESPACE).id)
    _converse(past)
    past.fold_as_writer()
    past.lose_index()
    memories.recall(NAMESPACE, "something")
    past.leave_leftovers()
    _say(past.converse(past.open(past.inner)).service, "session 9")
    assert memories.erase(NAMESPACE, confirm=NAMESPACE, user_id="alice").is_finished
    past.leave_leftovers()
    _say(past.converse(past.open(past.inner)).service, "session 9")
    assert memories.erase(NAMESPACE, confirm=NAMESPACE).is_finished


def _converse(past: Past) -> None:
    """Write, read and erase conversations, of which some turns left their windows and were digested."""
    service, digester = past.converse(past.parts).service, past.converse(past.open(past.inner)).worker
    for number in range(_SESSION_COUNT):
        _say(service, f"session {number}")
        digester.run([session_of(PLACE, f"session {number}")], lambda: _ENOUGH_MS)
        _say(service, f"session {number}")
    service.write(PLACE, None, [("user", "Alice is vegetarian")], contributor=ALICE)
    for session_id in ("session 0", None):
        scope = make_scope("session" if session_id else "user", principal="alice", session_id=session_id, limits=LIMITS)
        service.recall(PLACE, scope, "number")
        service.list(PLACE, scope)
        assert service.forget(PLACE, scope, failure_mode=FailureMode.STRICT)


def _say(service: ConversationService, session_id: str) -> None:
    said = [("user", f"Alice says that {number} is her favourite number, and why") for number in range(_TURN_COUNT)]
    assert service.write(PLACE, session_id, said, contributor=ALICE).scheduled


def digester(past: Past) -> None:
    """Turns that left their windows, an erasure that somebody left unfinished, and a sweep."""
    others, conversations = past.converse(past.open(past.inner)), past.converse(past.parts)
    for number in range(_SESSION_COUNT):
        _say(others.service, f"session {number}")
        conversations.worker.run([session_of(PLACE, f"session {number}")], lambda: _ENOUGH_MS)
        _say(others.service, f"session {number}")
    memories = past.open(past.inner).memories
    for memory in memories.list(NAMESPACE, limit=100).memories:
        # Then an earlier version of it is to be erased as well.
        memories.update(NAMESPACE, memory.id, importance=0.9)
    scope = make_scope("session", principal="alice", session_id="session 0", limits=LIMITS)
    others_eraser = past.converse(past.open(past.inner)).service._eraser
    with patch.object(others_eraser, "finish"):
        others_eraser.erase(session_of(PLACE, "session 0"), scope)
    conversations.sweeper.run(lambda: _ENOUGH_MS)


def mcp_endpoint(past: Past) -> None:
    """Every tool and resource, and the emergency in which a writer folds."""
    client = _McpClient(past)
    for kind in Kind:
        id = client.call("remember", content="something", kind=kind)["id"]
        client.call("update", id=id, content="something else")
        client.call("get", id=id)
        client.send("resources/read", uri=f"memory://memories/{id}")
        client.call("forget", id=id)
    client.call("recall", query="something")
    client.call("list")
    client.send("resources/read", uri="memory://statistics")
    past.fold_as_writer()
    past.lose_index()
    client.call("recall", query="something")


class _McpClient:
    """Sends messages to the real endpoint, with a token of the store."""

    def __init__(self, past: Past) -> None:
        logger = Logger(service="journey", level="CRITICAL")
        self._endpoint = McpEndpoint(past.parts.memories, AccessSettings(), logger=logger, clock=past.clock)
        tokens = past.open(past.inner).tokens
        token, _ = tokens.create(principal="alice", namespace=NAMESPACE)
        event = {"headers": {"authorization": f"Bearer {token}"}}
        self._authorizer = {"lambda": http_auth.authorize(event, tokens)["context"]}

    def send(self, method: str, **params: Any) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        event = {
            "rawPath": "/mcp",
            "requestContext": {"http": {"method": "POST", "path": "/mcp"}, "authorizer": self._authorizer},
            "headers": {"content-type": "application/json", "accept": "application/json"},
            "body": json.dumps(message),
        }
        answer = self._endpoint.handle(event)
        assert answer["statusCode"] == 200, answer
        return json.loads(answer["body"])["result"]

    def call(self, tool: str, **arguments: Any) -> Any:
        result = self.send("tools/call", name=tool, arguments=arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]


def authorizer(past: Past) -> None:
    """A token that is there, and one that is not."""
    token, _ = past.open(past.inner).tokens.create(principal="alice", namespace=NAMESPACE)
    past.parts.tokens.verify(token)
    with suppress(AuthenticationError):
        past.parts.tokens.verify(token[:-1] + ("a" if token[-1] != "a" else "b"))


def indexer(past: Past) -> None:
    """Events of the living and the dead, and what a fold tidies up."""
    past.replace_vectors()
    changes = past.leave_dead_objects()
    past.parts.indexer.run(changes)
    for wait in WAITS_MS:
        past.pass_time(wait)
        past.open(past.inner, embeds=True).memories.remember(NAMESPACE, "more")
        past.parts.indexer.run(changes)
    fresh = past.open(past.inner).memories.remember("users/new", "first")
    past.parts.indexer.run([TruthKey(parse_namespace("users/new"), Kind.SEMANTIC, fresh.id)])


def embedder(past: Past) -> None:
    """Memories without vectors, and shards to merge."""
    for number in range(MERGE_COUNT):
        past.open(past.inner).memories.remember(NAMESPACE, f"without a vector either {number}")
        past.open(past.inner).folder.fold(PLACE)
        assert not past.parts.embedder.run([PLACE], lambda: _ENOUGH_MS).failed


def pruner(past: Past) -> None:
    """Rounds over memories that have expired, and an index that was lost."""
    past.replace_vectors()
    for wait in WAITS_MS:
        past.pass_time(wait)
        past.open(past.inner).memories.remember(NAMESPACE, "short-lived", ttl=0.5)
        past.pass_time(0)
        past.parts.pruning.run(lambda: _ENOUGH_MS)
    past.lose_index()
    past.parts.pruning.run(lambda: _ENOUGH_MS)
    past.parts.pruning.run(lambda: 0)
    others = past.open(past.inner).memories
    for kind in Kind:
        old = others.remember(NAMESPACE, "Alice lives in Oslo", kind=kind)
        new = others.supersede(NAMESPACE, old.id, "Alice lives in Rome", ttl=0.5)
        others.update(NAMESPACE, new.id, importance=0.9)
    past.pass_time(1_000)
    past.parts.pruning.run(lambda: _ENOUGH_MS)
    for number in range(2):
        others.remember(NAMESPACE, "said again")
        others.remember(NAMESPACE, "said again")
        run = others.consolidate(NAMESPACE, undo_days=1)
        if number:
            others.undo_consolidation(NAMESPACE, run.id)
        past.pass_time(_DAY_MS)
        past.parts.pruning.run(lambda: _ENOUGH_MS)
    past.pass_time(40 * _DAY_MS)
    past.parts.pruning.run(lambda: _ENOUGH_MS)
    assert not others.consolidations(NAMESPACE)


def sweeper(past: Past) -> None:
    """Rounds over everything that was left behind, and over erasures that nobody finished."""
    past.replace_vectors()
    past.leave_dead_objects()
    for wait in WAITS_MS:
        past.pass_time(wait)
        past.parts.sweeping.run(lambda: _ENOUGH_MS)
    past.lose_index()
    past.parts.sweeping.run(lambda: _ENOUGH_MS)
    past.parts.sweeping.run(lambda: 0)
    others = past.open(past.inner)
    for user_id in ("alice", None):
        past.leave_leftovers()
        _say(past.converse(past.open(past.inner)).service, "session 9")
        past.converse(past.open(past.inner)).worker.run([session_of(PLACE, "session 9")], lambda: _ENOUGH_MS)
        _say(past.converse(past.open(past.inner)).service, "session 9")
        begun = others.memories.erase(NAMESPACE, confirm=NAMESPACE, seconds_max=0, user_id=user_id)
        past.parts.sweeping.run(lambda: _ENOUGH_MS)
        assert others.memories.erasure(NAMESPACE, begun.id).is_finished


def consolidator(past: Past) -> None:
    """Rounds over memories that say the same, a run that died, and one whose record may go."""
    others = past.open(past.inner).memories
    mine = ConsolidationRound(past.parts.runtime, past.parts.memories, open_summariser=LongestSummariser)
    for text in ("Alice is vegetarian", "alice is vegetarian!", "Bob paid Carol", "Carol was paid by Bob"):
        for kind in Kind:
            others.remember(NAMESPACE, text, kind=kind)
    assert mine.run(lambda: RESERVE_MS).changed == 0
    (begun,) = others.consolidations(NAMESPACE)
    merge = begun.merges[0]
    # The process before wrote a merged memory, and died before it wrote that down.
    originals = [others.get(NAMESPACE, item.id) for item in merge.originals]
    now = originals[0].updated_at
    made = merged_memory(originals, originals[0].content, run=begun, now=now, limits=LIMITS)
    past.open(past.inner).services.writer.remember_as(made)
    assert mine.run(lambda: _ENOUGH_MS).changed == len(begun.merges)
    past.replace_vectors()
    for wait in WAITS_MS:
        past.pass_time(wait)
        changed = others.remember(NAMESPACE, f"Alice likes tea number {wait}")
        others.update(NAMESPACE, changed.id, content=f"Alice likes tea number {wait}!")
        others.remember(NAMESPACE, f"Alice likes tea number {wait}")
        past.parts.memories.consolidate(NAMESPACE, undo_days=0)
        mine.run(lambda: _ENOUGH_MS)
    past.parts.memories.undo_consolidation(NAMESPACE, begun.id)
    past.lose_index()
    mine.run(lambda: _ENOUGH_MS)


JOURNEYS: dict[str, Callable[[Past], None]] = {
    journey.__name__: journey
    for journey in (http_api, mcp_endpoint, authorizer, indexer, embedder, digester, pruner, sweeper, consolidator)
}


@cache
def calls_of(name: str, *, embeds: bool) -> tuple[Call, ...]:
    """Return what one function asks of S3, each sort once."""
    with versioned_bucket(), patch.object(housekeeper, "FOLD_INLINE_ENTRY_COUNT", FOLD_INLINE_ENTRY_COUNT):
        past = Past(embeds=embeds)
        JOURNEYS[name](past)
        return tuple({(item.action, item.resource, _sort_of(item)): item for item in past.store.calls}.values())


def _sort_of(call: Call) -> str:
    """Return what tells a call from others of its action and resource: the prefix listed, or that it has conditions."""
    return call.context.get("s3:prefix") or " ".join(sorted(call.context))


def _try(action: Callable[[], object]) -> None:
    with suppress(AgentMemoryError):
        action()
