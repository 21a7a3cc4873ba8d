"""The real layers: built as for a deployment, small enough, and all that the handlers need."""

import json
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from infra import layer_build
from infra.function_table import FUNCTIONS, FunctionSpec
from infra.layer_build import BUILDERS, ROOT, Target, build_layer, size_bytes
from s3_agent_memory.bootstrap import Parts, Settings
from s3_agent_memory.domain.keys import parse_namespace
from tests.infra.layer_process import ColdStart, host_target, layer_folder, start
from tests.infra.synthesis import read_settings

SIZE_BYTES_MAX = 250 * 1024 * 1024
EVENTS = ROOT / "tests" / "events"
NAMESPACE = "users/alice"
ON_DEMAND = {"onnxruntime", "tokenizers", "jwt", "cryptography", "s3_agent_memory_model"}

every_function = pytest.mark.parametrize("spec", FUNCTIONS, ids=lambda spec: spec.name)
every_architecture = pytest.mark.parametrize("architecture", ["arm64", "x86_64"])


def recorded(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text("utf-8"))
    return event


def make_request(method: str, path: str, body: Any = None) -> dict[str, Any]:
    """Return a request with the grant that the authorizer gave it."""
    event = recorded("http_api_v2")
    event["rawPath"] = event["requestContext"]["http"]["path"] = path
    event["requestContext"]["http"]["method"] = method
    event["body"] = None if body is None else json.dumps(body)
    grant = {"token_id": "0" * 12, "principal": "alice", "namespace": NAMESPACE, "covers_children": "false"}
    times = {"created_at": "2026-10-23T23:37:42Z", "expires_at": ""}
    event["requestContext"]["authorizer"] = {"lambda": {**grant, **times, "permissions": "read write"}}
    return event


def make_tool_call(tool: str, **arguments: Any) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    return make_request("POST", "/mcp", message)


INVOCATIONS: dict[str, dict[str, Any]] = {
    "http_api": make_request("GET", "/openapi.json"),
    "mcp_endpoint": make_tool_call("list"),
    "authorizer": recorded("http_api_v2"),
    "indexer": recorded("sqs_s3_put_and_delete"),
    "embedder": recorded("sqs_s3_segments"),
    "digester": recorded("schedule"),
    "pruner": recorded("schedule"),
    "sweeper": recorded("schedule"),
    "consolidator": recorded("schedule"),
}


@every_function
@every_architecture
def test_a_function_with_its_layers_is_below_the_limit(spec: FunctionSpec, architecture: str) -> None:
    target = Target(architecture, "3.13")
    settings = read_settings(oidcIssuer="https://login.example.org")
    sizes = {name: size_bytes(layer_folder(name, target)) for name in spec.layers(settings)}
    sizes["code"] = (ROOT / "functions" / spec.name / "handler.py").stat().st_size
    print(f"{spec.name} on {architecture}: {sum(sizes.values()) / 1e6:.1f} MB", sizes)
    assert sum(sizes.values()) < SIZE_BYTES_MAX


@every_architecture
@pytest.mark.parametrize("layer", ["vendor", "mcp", "onnx"])
def test_compiled_modules_are_of_the_architecture_and_version(layer: str, architecture: str) -> None:
    machine = {"arm64": "aarch64", "x86_64": "x86_64"}[architecture]
    compiled = list((layer_folder(layer, Target(architecture, "3.13")) / "python").rglob("*.cpython-*.so"))
    assert compiled
    assert not [path.name for path in compiled if f"cpython-313-{machine}-linux" not in path.name]


def test_layers_hold_no_caches_and_no_tests() -> None:
    for name in BUILDERS:
        folder = layer_folder(name, Target("arm64", "3.13"))
        assert not [path for path in folder.rglob("*") if path.name in {"__pycache__", "tests"}]


def test_no_two_layers_bring_the_same_package() -> None:
    brought = [path.name for name in BUILDERS for path in (layer_folder(name, host_target()) / "python").iterdir()]
    assert sorted(brought) == sorted(set(brought))


def test_a_layer_is_built_once() -> None:
    target = Target("arm64", "3.13")
    first = layer_folder("vendor", target)
    changed_ns = first.stat().st_mtime_ns
    assert build_layer("vendor", target) == first
    assert first.stat().st_mtime_ns == changed_ns


def test_a_build_that_fails_leaves_no_layer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("numpy==0.0.0 --hash=sha256:" + "0" * 64, "utf-8")
    monkeypatch.setattr(layer_build, "ROOT", tmp_path)
    monkeypatch.setattr(layer_build, "REQUIREMENTS", {"vendor": requirements})
    monkeypatch.setattr(layer_build, "BUILD_FOLDER", tmp_path / "layers")
    monkeypatch.setattr(layer_build, "_digest", lambda _: "digest")
    with pytest.raises(RuntimeError, match="pip could not install"):
        build_layer("vendor", Target("arm64", "3.13"))
    assert list((tmp_path / "layers").iterdir()) == []


@pytest.mark.parametrize("name", layer_build.REQUIREMENTS)
def test_a_layer_has_the_versions_that_everything_is_tested_with(name: str) -> None:
    def pins(path: Path) -> set[str]:
        return {line.split()[0] for line in path.read_text("utf-8").splitlines() if "==" in line}

    assert pins(layer_build.REQUIREMENTS[name]) <= pins(ROOT / "requirements" / "dev.txt")


@pytest.fixture(scope="module")
def cold_start(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ColdStart]:
    """Start a function over a directory; each is started once."""

    @cache
    def run(name: str) -> ColdStart:
        return start(name, INVOCATIONS[name], url=f"file://{tmp_path_factory.mktemp('store')}")

    return run


@every_function
def test_a_handler_answers_with_nothing_but_its_layers(
    spec: FunctionSpec, cold_start: Callable[[str], ColdStart]
) -> None:
    cold = cold_start(spec.name)
    print(f"{spec.name}: imported in {cold.seconds * 1_000:.0f} ms")
    assert not [place for place in cold.places if "/.venv/" in place or "site-packages" in place]
    assert isinstance(cold.answer, dict)


def test_the_api_answers_from_the_layers_alone(cold_start: Callable[[str], ColdStart]) -> None:
    answer = cold_start("http_api").answer
    assert answer["statusCode"] == 200
    document = json.loads(answer["body"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert document["info"]["version"] == project["version"], "the layer does not know the version of the library"


# Neither asks the storage anything: the description of the API, and a request without a token.
@pytest.mark.parametrize(
    ("name", "event"),
    [("http_api", INVOCATIONS["http_api"]), ("authorizer", {"headers": {}})],
    ids=lambda value: str(value)[:10],
)
def test_a_handler_on_s3_finds_the_sdk_in_its_layers(name: str, event: dict[str, Any]) -> None:
    cold = start(name, event, url="s3://bucket")
    print(f"{name} with the SDK: imported in {cold.seconds * 1_000:.0f} ms")
    assert "boto3" in cold.loaded


@pytest.mark.parametrize("spec", FUNCTIONS, ids=lambda spec: spec.name)
def test_nothing_is_loaded_before_it_is_needed(spec: FunctionSpec, cold_start: Callable[[str], ColdStart]) -> None:
    loaded = cold_start(spec.name).loaded
    assert ("mcp" in loaded) is spec.is_mcp
    # The MCP SDK loads cryptography by itself.
    assert not ON_DEMAND & loaded - ({"cryptography"} if spec.is_mcp else set())


def test_the_api_loads_no_model_for_what_needs_none(cold_start: Callable[[str], ColdStart]) -> None:
    assert not {"onnxruntime", "mcp"} & cold_start("http_api").used


def test_the_api_makes_vectors_with_the_model_of_its_layer(tmp_path: Path) -> None:
    event = make_request("POST", "/v1/memories", {"content": "Alice is vegetarian"})
    cold = start("http_api", event, url=f"file://{tmp_path}")
    assert cold.answer["statusCode"] == 201
    assert "onnxruntime" in cold.used
    assert Parts(Settings(url=f"file://{tmp_path}")).memories.recall(NAMESPACE, "vegetarian")


def test_the_mcp_endpoint_makes_vectors_with_the_model_of_its_layer(tmp_path: Path) -> None:
    cold = start("mcp_endpoint", make_tool_call("remember", content="Alice is vegetarian"), url=f"file://{tmp_path}")
    assert cold.answer["statusCode"] == 200
    assert json.loads(cold.answer["body"])["result"]["structuredContent"]["kind"] == "semantic"
    assert "onnxruntime" in cold.used


def test_the_embedder_makes_vectors_with_the_model_of_its_layer(tmp_path: Path) -> None:
    parts = Parts(Settings(url=f"file://{tmp_path}"))
    parts.memories.remember(NAMESPACE, "Alice is vegetarian")
    parts.folder.fold(parse_namespace(NAMESPACE))
    (segment,) = tmp_path.rglob("*.seg")
    event = {"Records": [{"s3": {"object": {"key": str(segment.relative_to(tmp_path))}}}]}
    assert start("embedder", event, url=f"file://{tmp_path}").answer == {"batchItemFailures": []}
    assert list(tmp_path.rglob("*.vec"))


def test_the_authorizer_of_a_deployment_with_an_identity_provider_can_verify_its_tokens(tmp_path: Path) -> None:
    token = jwt.encode({"sub": "alice"}, ec.generate_private_key(ec.SECP256R1()), algorithm="ES256")
    event = {"headers": {"authorization": f"Bearer {token}"}}
    # Nobody listens there, so it gets as far as asking for the keys.
    provider = {"OIDC_ISSUER": "http://127.0.0.1:9", "PUBLIC_URL": "https://memory.example.org"}
    with pytest.raises(AssertionError, match="the keys of the identity provider could not be fetched"):
        start("authorizer", event, url=f"file://{tmp_path}", **provider)
