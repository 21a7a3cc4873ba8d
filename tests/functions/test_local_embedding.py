"""Which embedder the local stack takes where nobody chose one."""

import json
from unittest.mock import patch

import pytest

from functions.local_embedding import choose_embedder
from s3_agent_memory.embedding import extras
from tests.functions.stack_process import wait_until
from tests.layers.built_model import model_directory


def test_the_model_of_the_project_is_taken_where_it_is_built():
    environ = {"S3_AGENT_MEMORY_EMBEDDING_MODEL": str(model_directory())}
    assert choose_embedder(environ) == "by words and meaning (onnx)"
    assert environ["S3_AGENT_MEMORY_EMBEDDINGS"] == "onnx"


def test_without_a_model_memories_are_found_by_words_and_the_reason_is_told(tmp_path):
    environ = {"S3_AGENT_MEMORY_EMBEDDING_MODEL": str(tmp_path)}
    told = choose_embedder(environ)
    assert (told.startswith("by words alone: "), str(tmp_path) in told) == (True, True)
    assert "S3_AGENT_MEMORY_EMBEDDINGS" not in environ


def test_without_the_runtime_memories_are_found_by_words_and_the_reason_is_told():
    environ = {"S3_AGENT_MEMORY_EMBEDDING_MODEL": str(model_directory())}
    with patch.object(extras, "find_spec", lambda _: None):
        told = choose_embedder(environ)
    assert (told.startswith("by words alone: "), "onnx" in told) == (True, True)


@pytest.mark.parametrize("chosen", ["none", "fastembed"])
def test_a_choice_is_left_as_it_is(chosen):
    environ = {"S3_AGENT_MEMORY_EMBEDDINGS": chosen}
    told = choose_embedder(environ)
    assert environ == {"S3_AGENT_MEMORY_EMBEDDINGS": chosen}
    assert ("meaning" in told) == (chosen != "none")


def test_the_stack_embeds_what_is_written_and_imported_and_says_so(start_stack):
    model = str(model_directory())
    stack = start_stack(S3_AGENT_MEMORY_EMBEDDINGS="", S3_AGENT_MEMORY_EMBEDDING_MODEL=model)
    assert "search by words and meaning (onnx)" in stack.banner
    stack.send("POST", "/v1/memories", {"content": "Alice does not eat meat"})
    lines = "\n".join(json.dumps({"content": f"fact number {number}"}) for number in range(20))
    stack.send_lines("/v1/import", lines)
    stats = stack.send("GET", "/v1/stats")[1]
    assert (stats["memories"], stats["vectors"]) == (21, 21)


def test_the_stack_embeds_in_the_background_what_came_without_a_vector(start_stack):
    start_stack().send("POST", "/v1/memories", {"content": "Alice does not eat meat"})
    model = str(model_directory())
    stack = start_stack(S3_AGENT_MEMORY_EMBEDDINGS="onnx", S3_AGENT_MEMORY_EMBEDDING_MODEL=model)
    stack.send("POST", "/v1/memories", {"content": "Bob plays the trumpet"})
    assert wait_until(lambda: stack.send("GET", "/v1/stats")[1]["vectors"] == 2)
    assert stack.stop() == 0
    assert "Traceback" not in stack.log_path.read_text()
