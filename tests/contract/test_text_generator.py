"""Every adapter of a language model keeps to the port, against a server that speaks its provider's API."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from s3_agent_memory.errors import GenerationError, UnusableAnswerError
from s3_agent_memory.generation.bedrock import BedrockGenerator
from s3_agent_memory.generation.ollama import OllamaGenerator
from s3_agent_memory.generation.openai import OpenAiGenerator
from s3_agent_memory.generation.port import GenerationRequest, TextGenerator
from s3_agent_memory.storage.retry import Retrier, RetryPolicy
from tests.fakes import model_servers
from tests.fakes.clock import FakeClock
from tests.fakes.entropy import SeededEntropy
from tests.fakes.model_servers import INPUT_TOKENS, OUTPUT_TOKENS, ModelServer, Reply

ATTEMPT_COUNT_MAX = 3
SECRET = "sk-very-secret"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
QUESTION = GenerationRequest(system="Be brief.", prompt="What is it?", token_count_max=50, temperature=0.25)
JSON_QUESTION = GenerationRequest(system="Be brief.", prompt="What is it?", json_schema=SCHEMA)
DIALECTS = [model_servers.OpenAi(), model_servers.Ollama(), model_servers.Bedrock()]


@dataclass(frozen=True, slots=True)
class Model:
    """A generator and the server behind it."""

    generator: TextGenerator
    server: ModelServer
    clock: FakeClock

    @property
    def dialect(self):
        return self.server.dialect


def make_generator(server: ModelServer, clock: FakeClock, timeout_seconds: float = 10) -> TextGenerator:
    attempts = Retrier(clock, SeededEntropy(), RetryPolicy(attempt_count_max=ATTEMPT_COUNT_MAX))
    match server.dialect.name:
        case "openai":
            return OpenAiGenerator(
                "m",
                base_url=server.url + "/v1",
                api_key=SECRET,
                attempts=attempts,
                clock=clock,
                timeout_seconds=timeout_seconds,
            )
        case "ollama":
            return OllamaGenerator(
                "m", host=server.url, attempts=attempts, clock=clock, timeout_seconds=timeout_seconds
            )
        case _:
            return BedrockGenerator(
                "m",
                endpoint_url=server.url,
                region="us-east-1",
                attempts=attempts,
                timeout_seconds=timeout_seconds,
            )


@pytest.fixture(params=DIALECTS, ids=lambda dialect: dialect.name)
def model(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    clock = FakeClock()
    with model_servers.running(request.param) as server:
        yield Model(make_generator(server, clock), server, clock)


def test_generate_returns_the_text_and_what_it_cost(model: Model) -> None:
    model.server.will(model.dialect.text("A fine answer."))
    result = model.generator.generate(QUESTION)
    assert (result.text, result.input_tokens, result.output_tokens, result.is_complete) == (
        "A fine answer.",
        INPUT_TOKENS,
        OUTPUT_TOKENS,
        True,
    )


def test_generate_names_provider_and_model(model: Model) -> None:
    assert model.generator.name == f"{model.dialect.name}/m"


def test_generate_sends_system_and_prompt_apart_to_the_documented_path(model: Model) -> None:
    model.generator.generate(QUESTION)
    (sent,) = model.server.sent
    assert (sent.path, model.dialect.system_of(sent), model.dialect.prompt_of(sent)) == (
        model.dialect.path,
        QUESTION.system,
        QUESTION.prompt,
    )


def test_generate_sends_a_limit_of_tokens_and_the_temperature(model: Model) -> None:
    model.generator.generate(QUESTION)
    text = str(model.server.sent[0].document)
    assert "50" in text
    assert "0.25" in text


def test_generate_says_that_an_answer_was_cut(model: Model) -> None:
    model.server.will(model.dialect.text("An answer that", is_cut=True))
    assert not model.generator.generate(QUESTION).is_complete


def test_generate_sends_the_json_schema(model: Model) -> None:
    model.generator.generate(JSON_QUESTION)
    assert model.dialect.schema_of(model.server.sent[0]) == SCHEMA


def test_generate_sends_no_schema_for_plain_text(model: Model) -> None:
    model.generator.generate(QUESTION)
    assert model.dialect.schema_of(model.server.sent[0]) is None


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_tried_again(model: Model, status: int) -> None:
    model.server.will(model.dialect.error(status), model.dialect.text("at last"))
    assert model.generator.generate(QUESTION).text == "at last"


def test_attempts_are_bounded_and_wait_between_each_other(model: Model) -> None:
    model.server.will(model.dialect.error(503))
    with pytest.raises(GenerationError):
        model.generator.generate(QUESTION)
    assert len(model.server.sent) == ATTEMPT_COUNT_MAX
    assert len(model.clock.slept_seconds) == ATTEMPT_COUNT_MAX - 1


def test_a_lasting_failure_is_not_tried_again(model: Model) -> None:
    model.server.will(model.dialect.error(403))
    with pytest.raises(GenerationError):
        model.generator.generate(QUESTION)
    assert len(model.server.sent) == 1


def test_a_cut_connection_is_tried_again(model: Model) -> None:
    whole = model.dialect.text("whole")
    model.server.will(Reply(body=whole.body[:20], cut_bytes=len(whole.body) - 20), whole)
    assert model.generator.generate(QUESTION).text == "whole"


def test_a_server_that_is_silent_is_given_up(model: Model) -> None:
    model.server.will(Reply(stalls=True))
    impatient = make_generator(model.server, model.clock, timeout_seconds=0.2)
    with pytest.raises(GenerationError):
        impatient.generate(QUESTION)


def test_a_server_that_is_not_there_is_a_generation_error(model: Model) -> None:
    model.server.http.server_close()
    with pytest.raises(GenerationError):
        model.generator.generate(QUESTION)


def test_a_success_that_is_no_json_is_a_generation_error(model: Model) -> None:
    model.server.will(Reply(body=b"<html>hello</html>"))
    with pytest.raises(GenerationError):
        model.generator.generate(QUESTION)


def test_an_answer_without_text_is_unusable(model: Model) -> None:
    model.server.will(model.dialect.nothing())
    with pytest.raises(UnusableAnswerError):
        model.generator.generate(QUESTION)


def test_a_refusal_is_unusable(model: Model) -> None:
    refusal = model.dialect.refusal()
    if refusal is None:
        pytest.skip(f"{model.dialect.name} has no answer for a refusal")
    model.server.will(refusal)
    with pytest.raises(UnusableAnswerError):
        model.generator.generate(QUESTION)


@pytest.mark.parametrize("status", [403, 503])
def test_errors_hold_neither_the_key_nor_the_prompt(model: Model, status: int) -> None:
    model.server.will(model.dialect.error(status, f"{SECRET} may not ask: What is it?"))
    with pytest.raises(GenerationError) as caught:
        model.generator.generate(QUESTION)
    assert SECRET not in str(caught.value)
    assert QUESTION.prompt not in str(caught.value)
