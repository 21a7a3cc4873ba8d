"""The tools reach only the memory that a run's dependencies entitle to, whatever a model asks for."""

import asyncio
import json
from dataclasses import dataclass

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel

from s3_agent_memory.client import MemoryServiceClient
from s3_agent_memory.client.retries import Retries
from s3_agent_memory.errors import ValidationError
from s3_agent_memory.integrations.pydantic_ai import (
    attribution_from_deps,
    build_memory_toolset,
    entitled_levels,
    scope_from_deps,
)
from s3_agent_memory.wire.conversation import Attribution, Scope
from tests.fakes import model_servers
from tests.fakes.model_servers import Reply

FACT = {"id": "f1", "memory": "Alice lives in Rome", "score": 0.9, "created_at": "2026-10-23T23:37:41Z"}


@dataclass(frozen=True)
class Context:
    principal: str | None = None
    actor: str | None = None


@dataclass(frozen=True)
class Deps:
    security_context: Context | None = None
    session_id: str | None = None


ALICE = Deps(Context("alice", "cook"), "s1")


def service(sent):
    """Answer as the memory service would."""
    if sent.path == "/v1/write":
        return Reply(body=b'{"accepted": true, "scheduled": true, "degraded": false}', status=202)
    answer = {"long_term": {"facts": [FACT], "block": "- Alice lives in Rome"}, "degraded": False}
    return Reply(body=json.dumps(answer).encode())


@pytest.fixture
def server():
    with model_servers.running(model_servers.OpenAi()) as running:
        running.will(service)
        yield running


def run_agent(url, model, deps, **options):
    """Run an agent with the toolset and return its result."""

    async def run():
        async with MemoryServiceClient(url, retries=Retries(attempt_count_max=1)) as client:
            agent = Agent(model, deps_type=Deps, toolsets=[build_memory_toolset(client, **options)])
            return await agent.run("Go on", deps=deps)

    return asyncio.run(run())


def calling(tool, **arguments):
    """Return a model that calls a tool once and then stops, whatever comes back."""

    def model(messages, info):
        is_first = len(messages) == 1
        return ModelResponse(parts=[ToolCallPart(tool, arguments) if is_first else TextPart("done")])

    return FunctionModel(model)


def returned(result):
    return [
        part.content for message in result.all_messages() for part in message.parts if isinstance(part, ToolReturnPart)
    ]


def offered_tools(url, deps, **options):
    model = TestModel(call_tools=[])
    run_agent(url, model, deps, **options)
    assert model.last_model_request_parameters is not None
    return {tool.name: tool.parameters_json_schema for tool in model.last_model_request_parameters.function_tools}


# --- scopes ---


@pytest.mark.parametrize(
    ("deps", "levels"),
    [
        (ALICE, ("user", "agent", "session")),
        (Deps(Context("alice")), ("user",)),
        (Deps(Context(None, "cook"), "s1"), ("agent", "session")),
        (Deps(Context("  ", ""), " "), ()),
        (Deps(), ()),
        ({"security_context": {"principal": "alice"}, "session_id": "s1"}, ("user", "session")),
        (None, ()),
    ],
)
def test_levels_follow_from_the_dependencies(deps, levels):
    assert entitled_levels(deps) == levels


@pytest.mark.parametrize(
    ("level", "scope"),
    [
        (None, Scope(level="user", principal="alice", session_id="s1")),
        ("user", Scope(level="user", principal="alice", session_id="s1")),
        ("agent", Scope(level="agent", principal="alice", agent_client_id="cook", session_id="s1")),
        ("session", Scope(level="session", principal="alice", session_id="s1")),
    ],
)
def test_a_scope_names_the_user_at_every_level(level, scope):
    assert scope_from_deps(ALICE, level) == scope


@pytest.mark.parametrize(("deps", "level"), [(ALICE, "store"), (Deps(Context("alice")), "agent"), (Deps(), None)])
def test_a_level_without_entitlement_is_refused(deps, level):
    with pytest.raises(ValidationError):
        scope_from_deps(deps, level)


def test_an_attribution_names_all_that_is_known():
    assert attribution_from_deps(ALICE) == Attribution(principal="alice", agent_client_id="cook", session_id="s1")


@pytest.mark.parametrize("deps", [Deps(), Deps(None, "s1"), Deps(Context(" ", None), "s1")])
def test_an_attribution_of_nobody_is_refused(deps):
    with pytest.raises(ValidationError):
        attribution_from_deps(deps)


def test_an_identity_that_is_no_text_is_refused():
    with pytest.raises(ValidationError):
        attribution_from_deps(Deps(Context(7)))  # type: ignore[arg-type]


# --- tools ---


def test_both_tools_are_offered_without_any_identity_among_their_arguments(server):
    tools = offered_tools(server.url, ALICE)
    assert {name: set(schema["properties"]) for name, schema in tools.items()} == {
        "save_memory": {"content"},
        "search_memory": {"query", "level"},
    }


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"save": False}, {"search_memory"}),
        ({"search": False}, {"save_memory"}),
        ({"save": False, "search": False}, set()),
    ],
)
def test_each_tool_is_optional(server, options, names):
    assert set(offered_tools(server.url, ALICE, **options)) == names


@pytest.mark.parametrize(
    ("deps", "levels"),
    [
        (ALICE, ["user", "agent", "session"]),
        (Deps(Context("alice")), ["user"]),
        (Deps(Context(None, "cook")), ["agent"]),
    ],
)
def test_only_the_entitled_levels_are_offered(server, deps, levels):
    assert offered_tools(server.url, deps)["search_memory"]["properties"]["level"]["enum"] == levels


def test_no_tool_is_offered_to_nobody(server):
    assert offered_tools(server.url, Deps()) == {}


def test_the_test_model_can_call_every_tool(server):
    run_agent(server.url, TestModel(), ALICE)
    assert sorted(sent.path for sent in server.sent) == ["/v1/recall", "/v1/write"]


def test_save_memory_writes_for_the_run_outside_of_its_session(server):
    result = run_agent(server.url, calling("save_memory", content="Alice lives in Rome"), ALICE)
    (sent,) = server.sent
    assert sent.document["attribution"] == {"principal": "alice", "agent_client_id": "cook"}
    assert sent.document["turns"] == [{"role": "user", "content": "Alice lives in Rome"}]
    assert returned(result) == ["saved"]


def test_search_memory_returns_facts_as_untrusted_data(server):
    result = run_agent(server.url, calling("search_memory", query="where?"), ALICE)
    assert returned(result) == [
        {
            "untrusted_content": True,
            "memories": [{"memory": FACT["memory"], "created_at": FACT["created_at"]}],
            "degraded": False,
        }
    ]


@pytest.mark.parametrize("level", ["user", "agent", "session"])
def test_search_memory_searches_at_the_level_asked_for(server, level):
    run_agent(server.url, calling("search_memory", query="where?", level=level), ALICE)
    scope = server.sent[0].document["scope"]
    assert (scope["level"], scope["principal"]) == (level, "alice")


def test_search_memory_asks_for_long_term_only(server):
    run_agent(server.url, calling("search_memory", query="where?"), ALICE, top_k=3)
    assert (server.sent[0].document["include"], server.sent[0].document["top_k"]) == (["long_term"], 3)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_memory", {"query": "where?", "level": "store"}),
        ("search_memory", {"query": "where?", "level": "everything"}),
        ("search_memory", {"query": " "}),
        ("search_memory", {"query": "x" * 2_001}),
        ("search_memory", {"query": "where?", "principal": "bob"}),
        ("save_memory", {"content": ""}),
        ("save_memory", {"content": "x" * 4_001}),
    ],
)
def test_what_a_model_may_not_ask_for_is_sent_back_to_it(server, tool, arguments):
    result = run_agent(server.url, calling(tool, **arguments), ALICE)
    answers = [part for message in result.all_messages() for part in message.parts if part.part_kind != "text"]
    refused = [
        part
        for part in answers
        if isinstance(part, RetryPromptPart) or (isinstance(part, ToolReturnPart) and part.outcome == "retried")
    ]
    assert len(refused) == 1
    assert server.sent == []


def test_a_memory_out_of_reach_does_not_end_the_run():
    saved = run_agent("http://127.0.0.1:1", calling("save_memory", content="Alice lives in Rome"), ALICE)
    found = run_agent("http://127.0.0.1:1", calling("search_memory", query="where?"), ALICE)
    assert returned(saved)[0].startswith("not saved")
    assert returned(found) == [{"untrusted_content": True, "memories": [], "degraded": True}]
