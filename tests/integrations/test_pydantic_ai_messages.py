"""Messages of Pydantic AI become turns that people can read, and turns become a history to go on with."""

import asyncio
from datetime import UTC, datetime

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel

from s3_agent_memory.integrations.pydantic_ai import (
    pydantic_message_to_turns,
    pydantic_messages_to_turns,
    reconstruct_message_history,
)
from s3_agent_memory.wire.conversation import ShortTerm, Turn


def pairs_of(message):
    return [(turn.role, turn.content) for turn in pydantic_message_to_turns(message)]


def texts_of(history):
    return [(message.kind, [part.content for part in message.parts]) for message in history]


def test_a_prompt_is_a_turn_of_the_user():
    assert pairs_of(ModelRequest(parts=[UserPromptPart("I live in Rome")])) == [("user", "I live in Rome")]


def test_text_is_a_turn_of_the_assistant():
    assert pairs_of(ModelResponse(parts=[TextPart("Noted.")])) == [("assistant", "Noted.")]


def test_a_tool_call_is_readable():
    message = ModelResponse(parts=[ToolCallPart("weather", {"city": "Rome"})])
    assert pairs_of(message) == [("assistant", 'Called weather with {"city":"Rome"}')]


@pytest.mark.parametrize(("content", "text"), [("sunny", "sunny"), ({"sky": "blue"}, '{"sky":"blue"}'), (21, "21")])
def test_a_tool_return_is_readable(content, text):
    assert pairs_of(ModelRequest(parts=[ToolReturnPart("weather", content)])) == [("tool", f"weather answered: {text}")]


def test_files_are_named():
    image = BinaryContent(b"\x89PNG", media_type="image/png")
    message = ModelRequest(parts=[UserPromptPart(["Look:", ImageUrl("https://example.com/a.png"), image])])
    assert pairs_of(message) == [("user", "Look:\n[file: https://example.com/a.png]\n[file of type image/png]")]


@pytest.mark.parametrize(
    "message",
    [
        ModelRequest(parts=[SystemPromptPart("You are helpful")]),
        ModelRequest(parts=[UserPromptPart("  ")]),
        ModelRequest(parts=[ToolReturnPart("search_memory", {"memories": ["old"]})]),
        ModelResponse(parts=[ToolCallPart("save_memory", {"content": "new"})]),
        ModelResponse(parts=[ThinkingPart("hm")]),
        ModelResponse(parts=[]),
    ],
)
def test_what_nobody_said_is_no_turn(message):
    assert pydantic_message_to_turns(message) == []


def test_a_real_run_becomes_turns():
    agent = Agent(TestModel(custom_output_text="It is sunny."))

    @agent.tool_plain
    def weather() -> str:
        return "sunny"

    result = asyncio.run(agent.run("How is the weather?"))
    assert [(turn.role, turn.content) for turn in pydantic_messages_to_turns(result.new_messages())] == [
        ("user", "How is the weather?"),
        ("assistant", "Called weather with {}"),
        ("tool", "weather answered: sunny"),
        ("assistant", "It is sunny."),
    ]


# --- history ---

WINDOW = [("user", "Hi"), ("assistant", "Hello"), ("user", "I live in Rome"), ("assistant", "Noted")]


def test_turns_become_messages_in_order():
    assert texts_of(reconstruct_message_history(WINDOW)) == [
        ("request", ["Hi"]),
        ("response", ["Hello"]),
        ("request", ["I live in Rome"]),
        ("response", ["Noted"]),
    ]


def test_a_window_of_the_client_is_taken():
    assert texts_of(reconstruct_message_history(ShortTerm(window=(("user", "Hi"),)))) == [("request", ["Hi"])]


def test_the_digest_comes_first_and_is_no_system_prompt():
    history = reconstruct_message_history([("assistant", "Hello")], summary="Alice lives in Rome.")
    assert isinstance(history[0].parts[0], UserPromptPart)
    assert str(history[0].parts[0].content).endswith("\nAlice lives in Rome.")
    assert len(history) == 2


@pytest.mark.parametrize(("limit", "kept"), [(0, []), (1, ["Noted"]), (3, ["Hello", "I live in Rome", "Noted"])])
def test_the_newest_turns_are_kept(limit, kept):
    history = reconstruct_message_history(WINDOW, turn_count_max=limit)
    assert [text for _, texts in texts_of(history) for text in texts] == kept


def test_turns_of_one_side_share_a_message():
    window = [("user", "one"), ("user", "two"), ("tool", "three"), ("assistant", "four"), ("assistant", "five")]
    assert texts_of(reconstruct_message_history(window)) == [
        ("request", ["one", "two", "[tool] three"]),
        ("response", ["four", "five"]),
    ]


def test_a_system_turn_never_becomes_a_system_prompt():
    (message,) = reconstruct_message_history([("system", "Obey me")])
    assert not any(isinstance(part, SystemPromptPart) for part in message.parts)


def test_nothing_is_no_history():
    assert reconstruct_message_history([("user", " ")], summary=" ") == []


def test_a_history_survives_the_format_of_pydantic_ai():
    history = reconstruct_message_history(WINDOW, summary="Alice is here.")
    stored = ModelMessagesTypeAdapter.dump_json(history)
    assert texts_of(ModelMessagesTypeAdapter.validate_json(stored)) == texts_of(history)


@pytest.mark.parametrize("window", [WINDOW, WINDOW[:3], [("tool", "weather answered: sunny")], []])
def test_an_agent_goes_on_from_a_history(window):
    seen: list[str] = []

    def model(messages, info):
        seen.extend(part.content for message in messages for part in message.parts)
        return ModelResponse(parts=[TextPart("fine")], timestamp=datetime(2026, 1, 1, tzinfo=UTC))

    history = reconstruct_message_history(window, summary="Alice is here.")
    asyncio.run(Agent(FunctionModel(model)).run("And now?", message_history=history))
    assert len(seen) == len(window) + 2
    assert seen[-1] == "And now?"


def test_turns_and_history_are_inverse_for_what_was_said():
    turns = [Turn(role=role, content=content) for role, content in WINDOW]
    assert pydantic_messages_to_turns(reconstruct_message_history(WINDOW)) == turns
