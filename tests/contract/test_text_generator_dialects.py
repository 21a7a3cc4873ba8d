"""What is peculiar to each provider of language models."""

import json
from collections.abc import Iterator

import pytest

from s3_agent_memory.errors import GenerationError, ValidationError
from s3_agent_memory.generation import json_endpoint
from s3_agent_memory.generation.bedrock import BedrockGenerator
from s3_agent_memory.generation.ollama import OllamaGenerator
from s3_agent_memory.generation.openai import OpenAiGenerator
from s3_agent_memory.generation.port import GenerationRequest
from s3_agent_memory.storage.retry import Retrier, RetryPolicy
from tests.fakes import model_servers
from tests.fakes.clock import FakeClock
from tests.fakes.entropy import SeededEntropy
from tests.fakes.model_servers import ModelServer, Reply

SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}
QUESTION = GenerationRequest(system="Be brief.", prompt="What is it?", temperature=0.25)
JSON_QUESTION = GenerationRequest(system="Be brief.", prompt="What is it?", json_schema=SCHEMA)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def attempts(clock: FakeClock) -> Retrier:
    return Retrier(clock, SeededEntropy(), RetryPolicy(attempt_count_max=2))


@pytest.fixture
def openai_server() -> Iterator[ModelServer]:
    with model_servers.running(model_servers.OpenAi()) as server:
        yield server


@pytest.fixture
def openai(openai_server: ModelServer, attempts: Retrier, clock: FakeClock) -> OpenAiGenerator:
    return OpenAiGenerator("m", base_url=openai_server.url + "/v1/", api_key="key", attempts=attempts, clock=clock)


@pytest.fixture
def ollama_server() -> Iterator[ModelServer]:
    with model_servers.running(model_servers.Ollama()) as server:
        yield server


@pytest.fixture
def bedrock_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with model_servers.running(model_servers.Bedrock()) as server:
        yield server


def refusing(*fields: str):
    """Return a reply of a server of OpenAI's API that refuses a request with one of the fields, and names it."""
    dialect = model_servers.OpenAi()

    def reply(sent):
        refused = next((name for name in fields if name in sent.document), None)
        return dialect.text("{}") if refused is None else dialect.error(400, param=refused)

    return reply


def test_openai_sends_the_key_as_a_bearer_token(openai: OpenAiGenerator, openai_server: ModelServer) -> None:
    openai.generate(QUESTION)
    assert openai_server.sent[0].headers["authorization"] == "Bearer key"


def test_openai_asks_for_strict_adherence_to_the_schema(openai: OpenAiGenerator, openai_server: ModelServer) -> None:
    openai.generate(JSON_QUESTION)
    response_format = openai_server.sent[0].document["response_format"]
    assert (response_format["type"], response_format["json_schema"]["strict"]) == ("json_schema", True)


def test_openai_puts_the_schema_into_words_where_formats_are_unknown(
    openai: OpenAiGenerator, openai_server: ModelServer
) -> None:
    openai_server.will(refusing("response_format"))
    openai.generate(JSON_QUESTION)
    formats = [sent.document.get("response_format", {}).get("type") for sent in openai_server.sent]
    assert formats == ["json_schema", "json_object", None]
    assert json.dumps(SCHEMA) in openai_server.dialect.system_of(openai_server.sent[-1])


def test_openai_remembers_what_a_server_does_not_take(openai: OpenAiGenerator, openai_server: ModelServer) -> None:
    openai_server.will(refusing("response_format", "max_tokens", "temperature"))
    openai.generate(JSON_QUESTION)
    first_count = len(openai_server.sent)
    openai.generate(JSON_QUESTION)
    assert (first_count, len(openai_server.sent)) == (5, 6)


def test_openai_gives_the_limit_the_name_that_newer_models_want(
    openai: OpenAiGenerator, openai_server: ModelServer
) -> None:
    openai_server.will(refusing("max_tokens"))
    openai.generate(QUESTION)
    assert openai_server.sent[-1].document["max_completion_tokens"] == QUESTION.token_count_max


def test_openai_forgets_nothing_for_a_request_that_is_wrong_anyhow(
    openai: OpenAiGenerator, openai_server: ModelServer
) -> None:
    dialect = model_servers.OpenAi()
    openai_server.will(dialect.error(400))
    with pytest.raises(GenerationError):
        openai.generate(JSON_QUESTION)
    openai_server.will(dialect.text("{}"))
    openai.generate(JSON_QUESTION)
    assert openai_server.sent[-1].document["response_format"]["type"] == "json_schema"


def test_openai_estimates_tokens_where_the_server_does_not_count(
    openai: OpenAiGenerator, openai_server: ModelServer
) -> None:
    document = {"choices": [{"message": {"content": "A fine answer."}, "finish_reason": "stop"}]}
    openai_server.will(Reply(body=json.dumps(document).encode()))
    result = openai.generate(QUESTION)
    assert result.input_tokens > 0
    assert result.output_tokens > 0


def test_openai_waits_as_long_as_the_server_asks(
    openai: OpenAiGenerator, openai_server: ModelServer, clock: FakeClock
) -> None:
    dialect = model_servers.OpenAi()
    openai_server.will(dialect.error(429, **{"Retry-After": "7"}), dialect.text("fine"))
    openai.generate(QUESTION)
    assert sum(clock.slept_seconds) >= 7


def test_openai_waits_no_longer_than_its_limit(
    openai: OpenAiGenerator, openai_server: ModelServer, clock: FakeClock
) -> None:
    dialect = model_servers.OpenAi()
    openai_server.will(dialect.error(429, **{"Retry-After": "86400"}), dialect.text("fine"))
    openai.generate(QUESTION)
    assert sum(clock.slept_seconds) <= json_endpoint.RETRY_AFTER_SECONDS_MAX + 1


def test_openai_follows_no_redirect(openai: OpenAiGenerator, openai_server: ModelServer) -> None:
    openai_server.will(Reply(status=307, headers={"Location": openai_server.url + "/elsewhere"}))
    with pytest.raises(GenerationError):
        openai.generate(QUESTION)
    assert [sent.path for sent in openai_server.sent] == ["/v1/chat/completions"]


def test_openai_reads_no_endless_answer(
    openai: OpenAiGenerator, openai_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_endpoint, "ANSWER_BYTES_MAX", 1_000)
    openai_server.will(model_servers.OpenAi().text("a" * 2_000))
    with pytest.raises(GenerationError, match="more than 1000 bytes"):
        openai.generate(QUESTION)


class HurryingClock(FakeClock):
    """A clock on which a minute and more passes between any two looks."""

    def monotonic_s(self):
        self.advance(100)
        return super().monotonic_s()


def test_openai_gives_up_an_answer_that_takes_too_long_in_all(openai_server: ModelServer) -> None:
    clock = HurryingClock()
    attempts = Retrier(clock, SeededEntropy(), RetryPolicy(attempt_count_max=2))
    generator = OpenAiGenerator("m", base_url=openai_server.url, attempts=attempts, clock=clock)
    with pytest.raises(GenerationError, match="no complete answer within 60 seconds"):
        generator.generate(QUESTION)
    assert len(openai_server.sent) == 2


def test_openai_refuses_a_key_that_no_header_can_hold(attempts: Retrier, clock: FakeClock) -> None:
    with pytest.raises(ValidationError) as caught:
        OpenAiGenerator("m", base_url="http://localhost", api_key="top\nsecret", attempts=attempts, clock=clock)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("base_url", ["", "localhost:8000", "file:///etc/passwd"])
def test_openai_refuses_what_is_no_url(base_url: str, attempts: Retrier, clock: FakeClock) -> None:
    with pytest.raises(ValidationError):
        OpenAiGenerator("m", base_url=base_url, attempts=attempts, clock=clock)


def test_ollama_takes_a_host_without_a_scheme(ollama_server: ModelServer, attempts: Retrier, clock: FakeClock) -> None:
    host = ollama_server.url.removeprefix("http://")
    assert OllamaGenerator("m", host=host, attempts=attempts, clock=clock).generate(QUESTION).text == "fine"


def test_ollama_makes_room_for_a_long_question(ollama_server: ModelServer, attempts: Retrier, clock: FakeClock) -> None:
    generator = OllamaGenerator("m", host=ollama_server.url, attempts=attempts, clock=clock)
    generator.generate(QUESTION)
    generator.generate(GenerationRequest(system="s", prompt="word " * 6_000))
    sizes = [sent.document["options"]["num_ctx"] for sent in ollama_server.sent]
    assert sizes[0] == 4_096
    assert sizes[1] > 6_000


def test_ollama_refuses_an_answer_that_is_not_done(
    ollama_server: ModelServer, attempts: Retrier, clock: FakeClock
) -> None:
    ollama_server.will(Reply(body=b'{"message": {"role": "assistant", "content": "Half an"}, "done": false}'))
    with pytest.raises(GenerationError):
        OllamaGenerator("m", host=ollama_server.url, attempts=attempts, clock=clock).generate(QUESTION)


def test_bedrock_puts_the_schema_into_words_for_a_model_without_structured_output(
    bedrock_server: ModelServer, attempts: Retrier
) -> None:
    dialect = model_servers.Bedrock()
    bedrock_server.will(lambda sent: dialect.error(400) if "outputConfig" in sent.document else dialect.text("{}"))
    generator = BedrockGenerator("m", endpoint_url=bedrock_server.url, region="us-east-1", attempts=attempts)
    generator.generate(JSON_QUESTION)
    generator.generate(JSON_QUESTION)
    assert [dialect.schema_of(sent) is not None for sent in bedrock_server.sent] == [True, False, False]
    assert json.dumps(SCHEMA) in dialect.system_of(bedrock_server.sent[-1])


def test_bedrock_joins_the_text_and_leaves_the_reasoning_out(bedrock_server: ModelServer, attempts: Retrier) -> None:
    reply = json.loads(model_servers.Bedrock().text("").body)
    reasoning = {"reasoningContent": {"reasoningText": {"text": "hm"}}}
    reply["output"]["message"]["content"] = [reasoning, {"text": "A fine "}, {"text": "answer."}]
    bedrock_server.will(Reply(body=json.dumps(reply).encode()))
    generator = BedrockGenerator("m", endpoint_url=bedrock_server.url, region="us-east-1", attempts=attempts)
    assert generator.generate(QUESTION).text == "A fine answer."
