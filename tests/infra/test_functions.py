"""Functions: what each runs on, as whom, and where its failures and logs go."""

import pytest

from infra.function_table import FUNCTIONS, FunctionSpec, chosen_functions
from infra.layer_build import ROOT
from tests.infra.synthesis import Template, read_settings, synthesise

every_function = pytest.mark.parametrize("spec", FUNCTIONS, ids=lambda spec: spec.name)
fast_function = pytest.mark.parametrize(
    "spec", [spec for spec in FUNCTIONS if spec.is_fast_start], ids=lambda spec: spec.name
)
LAMBDA = "AWS::Lambda::Function"


def test_every_function_of_the_template_is_one_of_ours(template: Template) -> None:
    described = {item["Properties"]["Description"] for item in template.all(LAMBDA).values()}
    assert described == {f"s3-agent-memory: {spec.name}" for spec in FUNCTIONS}


@every_function
def test_a_function_has_a_handler(spec: FunctionSpec) -> None:
    assert "def lambda_handler(" in (ROOT / "functions" / spec.name / "handler.py").read_text("utf-8")


@every_function
def test_a_function_runs_on_the_chosen_runtime(template: Template, spec: FunctionSpec) -> None:
    function = template.function(spec.name)
    assert (function["Runtime"], function["Architectures"]) == ("python3.13", ["arm64"])
    assert function["Handler"] == "handler.lambda_handler"


def test_runtime_and_architecture_are_settings() -> None:
    template = synthesise(architecture="x86_64", pythonVersion="3.12")
    for resource in template.all(LAMBDA).values():
        assert resource["Properties"]["Runtime"] == "python3.12"
        assert resource["Properties"]["Architectures"] == ["x86_64"]
    for resource in template.all("AWS::Lambda::LayerVersion").values():
        assert resource["Properties"]["CompatibleArchitectures"] == ["x86_64"]
        assert resource["Properties"]["CompatibleRuntimes"] == ["python3.12"]


@every_function
def test_a_function_knows_its_store(template: Template, spec: FunctionSpec) -> None:
    (bucket_id,) = template.all("AWS::S3::Bucket")
    url = template.function(spec.name)["Environment"]["Variables"]["S3_AGENT_MEMORY_URL"]
    assert url == {"Fn::Join": ["", ["s3://", {"Ref": bucket_id}]]}


@every_function
def test_a_function_has_the_layers_that_its_row_names(template: Template, spec: FunctionSpec) -> None:
    assert layers_of(template, spec.name) == set(spec.layers(read_settings()))


def layers_of(template: Template, name: str) -> set[str]:
    return {layer["Ref"].partition("Layer")[0].lower() for layer in template.function(name)["Layers"]}


def test_only_what_embeds_has_a_model(template: Template) -> None:
    with_model = {spec.name for spec in FUNCTIONS if "onnx" in layers_of(template, spec.name)}
    assert with_model == {"http_api", "mcp_endpoint", "embedder", "digester", "sweeper", "consolidator"}
    for spec in FUNCTIONS:
        variables = template.function(spec.name)["Environment"]["Variables"]
        assert variables["S3_AGENT_MEMORY_EMBEDDINGS"] == ("onnx" if spec.name in with_model else "none")


def test_without_embeddings_no_function_has_a_model() -> None:
    template = synthesise(embeddings="none")
    for spec in chosen_functions(read_settings(embeddings="none")):
        assert "onnx" not in layers_of(template, spec.name)
        assert template.function(spec.name)["Environment"]["Variables"]["S3_AGENT_MEMORY_EMBEDDINGS"] == "none"


def test_only_the_mcp_endpoint_has_the_mcp_sdk(template: Template) -> None:
    assert {spec.name for spec in FUNCTIONS if "mcp" in layers_of(template, spec.name)} == {"mcp_endpoint"}


def test_every_function_has_a_role_of_its_own(template: Template) -> None:
    roles = [template.function(spec.name)["Role"]["Fn::GetAtt"][0] for spec in FUNCTIONS]
    assert len(set(roles)) == len(FUNCTIONS)


def test_no_role_has_a_policy_of_aws(template: Template) -> None:
    for resource in template.all("AWS::IAM::Role").values():
        assert "ManagedPolicyArns" not in resource["Properties"]


def test_no_action_is_a_wildcard(template: Template) -> None:
    for resource in template.all("AWS::IAM::Policy").values():
        for statement in resource["Properties"]["PolicyDocument"]["Statement"]:
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            assert not [action for action in actions if "*" in action]


def test_only_tracing_is_allowed_on_every_resource(template: Template) -> None:
    everywhere = {
        action
        for resource in template.all("AWS::IAM::Policy").values()
        for statement in resource["Properties"]["PolicyDocument"]["Statement"]
        if statement["Resource"] == "*"
        for action in statement["Action"]
    }
    assert everywhere == {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}


@every_function
def test_a_function_is_traced_and_logs_json_for_a_while(template: Template, spec: FunctionSpec) -> None:
    function = template.function(spec.name)
    assert function["TracingConfig"] == {"Mode": "Active"}
    assert function["LoggingConfig"]["LogFormat"] == "JSON"
    group = template.all("AWS::Logs::LogGroup")[function["LoggingConfig"]["LogGroup"]["Ref"]]
    assert group["Properties"]["RetentionInDays"] == 30


def test_log_retention_is_a_setting() -> None:
    groups = synthesise(logRetentionDays="90").all("AWS::Logs::LogGroup").values()
    assert {group["Properties"]["RetentionInDays"] for group in groups} == {90}


@fast_function
def test_a_fast_function_starts_from_a_snapshot_of_the_version_that_its_alias_names(
    template: Template, spec: FunctionSpec
) -> None:
    assert template.function(spec.name)["SnapStart"] == {"ApplyOn": "PublishedVersions"}
    alias = template.one("AWS::Lambda::Alias", starts=spec.construct_id)
    (version_id,) = [name for name in template.all("AWS::Lambda::Version") if name.startswith(spec.construct_id)]
    assert (alias["Name"], alias["FunctionVersion"]["Fn::GetAtt"]) == ("live", [version_id, "Version"])


def test_only_functions_that_people_wait_for_have_snapshots(template: Template) -> None:
    with_snapshot = {spec.name for spec in FUNCTIONS if "SnapStart" in template.function(spec.name)}
    assert with_snapshot == {spec.name for spec in FUNCTIONS if spec.is_fast_start}


@pytest.mark.parametrize("context", [{"snapStart": "false"}, {"pythonVersion": "3.11"}])
def test_without_snapshots_the_alias_stays(context: dict[str, str]) -> None:
    template = synthesise(**context)
    assert not [item for item in template.all(LAMBDA).values() if "SnapStart" in item["Properties"]]
    assert {item["Properties"]["Name"] for item in template.all("AWS::Lambda::Alias").values()} == {"live"}


def test_concurrency_is_reserved_only_where_it_is_said(template: Template) -> None:
    assert "ReservedConcurrentExecutions" not in template.function("http_api")
    changed = synthesise(reservedConcurrency="http_api=50,indexer=5")
    assert changed.function("http_api")["ReservedConcurrentExecutions"] == 50
    assert changed.function("indexer")["ReservedConcurrentExecutions"] == 5
    assert "ReservedConcurrentExecutions" not in changed.function("pruner")


def test_a_round_has_time_for_more_than_what_it_keeps_in_reserve(template: Template) -> None:
    from s3_agent_memory.service.rounds import RESERVE_MS

    for spec in FUNCTIONS:
        if spec.is_scheduled:
            assert template.function(spec.name)["Timeout"] * 1_000 > 2 * RESERVE_MS
