"""An agent of Pydantic AI remembers across conversations, with the whole system behind it."""

import asyncio
import os
import subprocess
import sys

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from s3_agent_memory.client import MemoryServiceClient
from s3_agent_memory.integrations.pydantic_ai import (
    attribution_from_deps,
    pydantic_messages_to_turns,
    reconstruct_message_history,
    scope_from_deps,
)
from s3_agent_memory.wire.conversation import Attribution, Scope, Turn
from tests.functions.stack_process import ROOT, WAIT_SECONDS, Stack

DEPS = {"security_context": {"principal": "local", "actor": "cook"}, "session_id": "s1"}
USER = Scope(level="user", principal="local")


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    running = Stack(tmp_path_factory.mktemp("stack"))
    yield running
    running.stop()


def with_client(stack, call):
    async def run():
        async with MemoryServiceClient(stack.url, token=stack.token) as client:
            return await call(client)

    return asyncio.run(run())


async def facts_with(client, text):
    """Return the facts that hold a text, once there are some; the number of tries is bounded."""
    for _ in range(WAIT_SECONDS * 5):
        listed = await client.list(USER, include=["long_term"])
        found = [fact.memory for fact in listed.long_term.facts if text in fact.memory]
        if found:
            return found
        await asyncio.sleep(0.2)
    return []


def test_the_example_remembers_in_a_second_conversation_what_it_heard_in_the_first(stack):
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / "pydantic_ai_agent.py")]
    environment = os.environ | {"URL": stack.url, "TOKEN": stack.token}
    environment.pop("MODEL", None)
    run = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=WAIT_SECONDS * 4, check=False
    )
    assert run.returncode == 0, run.stderr
    monday, _, tuesday = run.stdout.partition("--- tuesday")
    assert "Noted (saved)." in monday
    assert "vegetarian" in tuesday
    assert "allergic to nuts" in tuesday


def test_an_agent_goes_on_with_the_turns_of_its_session(stack):
    seen = []

    def model(messages, info):
        seen.append([part.content for message in messages for part in message.parts])
        return ModelResponse(parts=[TextPart("Noted.")])

    async def converse(client):
        agent = Agent(FunctionModel(model))
        for message in ("I live in Rome", "I like soup"):
            recalled = await client.recall(scope_from_deps(DEPS), message)
            history = reconstruct_message_history(recalled.short_term or (), summary=recalled.medium_term.summary)
            result = await agent.run(message, message_history=history)
            assert await client.write(attribution_from_deps(DEPS), pydantic_messages_to_turns(result.new_messages()))

    with_client(stack, converse)
    assert seen == [["I live in Rome"], ["I live in Rome", "Noted.", "I like soup"]]


def test_a_write_outside_of_sessions_becomes_a_memory(stack):
    async def save(client):
        assert await client.write(Attribution(principal="local"), [Turn(role="user", content="Zebras are my hobby")])
        return await facts_with(client, "Zebras")

    assert with_client(stack, save) == ["Zebras are my hobby"]


def test_a_write_that_comes_again_is_stored_once(stack):
    session = Scope(level="session", principal="local", session_id="again")

    async def write_twice(client):
        ids = iter([client._new_write_id()] * 2)
        client._new_write_id = lambda: next(ids)
        writer = Attribution(principal="local", session_id="again")
        turns = [Turn(role="user", content="Only once")]
        assert await client.write(writer, turns, failure_mode="strict")
        assert await client.write(writer, turns, failure_mode="strict")
        return (await client.recall(session, "", include=["short_term"])).short_term.window

    assert with_client(stack, write_twice) == (("user", "Only once"),)


def test_what_is_forgotten_is_gone(stack):
    session = Scope(level="session", principal="local", session_id="gone")

    async def forget(client):
        writer = Attribution(principal="local", session_id="gone")
        await client.write(writer, [Turn(role="user", content="Forget me")], failure_mode="strict")
        assert await client.forget(session, failure_mode="strict")
        return await client.recall(session, "Forget me")

    answer = with_client(stack, forget)
    assert not answer.degraded
    assert answer.short_term.window == ()


def test_another_user_is_refused_and_the_recall_is_empty(stack):
    answer = with_client(stack, lambda client: client.recall(Scope(level="user", principal="bob"), "zebras"))
    assert answer.degraded
    assert answer.long_term.facts == ()


def test_a_wrong_token_is_an_empty_recall(stack):
    async def run():
        async with MemoryServiceClient(stack.url, token="am_wrong") as client:
            return await client.recall(USER, "zebras")

    assert asyncio.run(run()).degraded
