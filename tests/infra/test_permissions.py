"""Roles allow what the functions do, and nothing that they do not do.

What they do is not written down here: it is recorded from the real services over a bucket with a past.
"""

from typing import Any

import pytest

from infra import names, permissions
from infra.function_table import FUNCTIONS, FunctionSpec
from s3_agent_memory.domain.kinds import Kind
from tests.infra.journeys import JOURNEYS, calls_of
from tests.infra.policies import BUCKET, Call, is_allowed, is_denied, matches
from tests.infra.synthesis import Template, synthesise, text_of


def name_of(spec: FunctionSpec) -> str:
    return spec.name


every_function = pytest.mark.parametrize("spec", FUNCTIONS, ids=name_of)


def statements_of(template: Template, name: str) -> list[dict[str, Any]]:
    """Return the statements of a role that speak of the bucket, with its name in them."""
    (bucket_id,) = template.all("AWS::S3::Bucket")
    plain = []
    for statement in template.role_statements(name):
        resources = statement["Resource"] if isinstance(statement["Resource"], list) else [statement["Resource"]]
        found = [text_of(resource).replace(f"<{bucket_id}>", BUCKET) for resource in resources]
        if all(resource.startswith(BUCKET) for resource in found):
            plain.append({**statement, "Resource": found})
    return plain


def bucket_statements(template: Template) -> list[dict[str, Any]]:
    (bucket_id,) = template.all("AWS::S3::Bucket")
    return [
        {**item, "Resource": [text_of(resource).replace(f"<{bucket_id}>", BUCKET) for resource in item["Resource"]]}
        for item in template.one("AWS::S3::BucketPolicy")["PolicyDocument"]["Statement"]
    ]


def test_every_function_has_a_journey() -> None:
    assert set(JOURNEYS) == {spec.name for spec in FUNCTIONS}


@every_function
def test_a_role_allows_what_its_function_does(template: Template, spec: FunctionSpec) -> None:
    statements = statements_of(template, spec.name)
    assert [call for call in calls_of(spec.name, embeds=spec.embeds) if not is_allowed(call, statements)] == []


@pytest.mark.parametrize("spec", [spec for spec in FUNCTIONS if spec.embeds and spec.name != "embedder"], ids=name_of)
def test_a_role_allows_what_its_function_does_without_a_model(spec: FunctionSpec) -> None:
    statements = statements_of(synthesise(embeddings="none"), spec.name)
    assert [call for call in calls_of(spec.name, embeds=False) if not is_allowed(call, statements)] == []


@every_function
def test_the_bucket_policy_denies_nothing_that_a_function_does(template: Template, spec: FunctionSpec) -> None:
    statements = bucket_statements(template)
    assert [call for call in calls_of(spec.name, embeds=spec.embeds) if is_denied(call, statements)] == []


@every_function
def test_a_role_allows_nothing_that_its_function_does_not_do(template: Template, spec: FunctionSpec) -> None:
    # A read of what may be missing needs the permission to list, too.
    calls = [*calls_of(spec.name, embeds=spec.embeds), Call("s3:ListBucket", BUCKET, {})]
    unused = [
        (action, resource)
        for statement in statements_of(template, spec.name)
        for action, resource in _pairs(statement)
        if not any(call.action == action and matches(resource, call.resource) for call in calls)
    ]
    assert unused == []


def _pairs(statement: dict[str, Any]) -> list[tuple[str, str]]:
    actions, resources = statement["Action"], statement["Resource"]
    return [
        (action, resource) for action in (actions if isinstance(actions, list) else [actions]) for resource in resources
    ]


def test_the_authorizer_reads_nothing_but_tokens(template: Template) -> None:
    statements = statements_of(template, "authorizer")
    assert {statement["Action"] for statement in statements} == {"s3:GetObject", "s3:ListBucket"}
    read = next(statement for statement in statements if statement["Action"] == "s3:GetObject")
    assert read["Resource"] == [f"{BUCKET}/auth/tokens/*"]


@pytest.mark.parametrize("spec", [spec for spec in FUNCTIONS if spec.name != "authorizer"], ids=name_of)
def test_no_other_function_reaches_tokens(template: Template, spec: FunctionSpec) -> None:
    statements = statements_of(template, spec.name)
    key = f"{BUCKET}/{names.TOKEN_PREFIX}{'0' * 64}.json"
    for action in ("s3:GetObject", "s3:PutObject", "s3:DeleteObject"):
        assert not is_allowed(Call(action, key, {}), statements)
    assert not is_allowed(Call("s3:ListBucket", BUCKET, {"s3:prefix": names.TOKEN_PREFIX}), statements)


ERASERS = {"http_api", "sweeper"}
CONVERSING = {*ERASERS, "digester"}


@pytest.mark.parametrize("spec", [spec for spec in FUNCTIONS if spec.name not in CONVERSING], ids=name_of)
def test_only_api_digester_and_erasers_reach_conversations(template: Template, spec: FunctionSpec) -> None:
    statements = statements_of(template, spec.name)
    for action in ("s3:GetObject", "s3:PutObject", "s3:DeleteObject"):
        assert not is_allowed(Call(action, f"{BUCKET}/sessions/a/_windows/00.json", {}), statements)
    assert not is_allowed(Call("s3:ListBucket", BUCKET, {"s3:prefix": names.SESSION_PREFIX}), statements)


# The pruner writes down the end of what an expired memory has superseded.
@pytest.mark.parametrize("name", ["indexer", "embedder", "sweeper"])
def test_a_function_of_the_background_cannot_write_memories(template: Template, name: str) -> None:
    key = f"{BUCKET}/memory/users/alice/{Kind.SEMANTIC}/units.json"
    assert not is_allowed(Call("s3:PutObject", key, {}), statements_of(template, name))


@every_function
def test_tombstones_and_manifests_can_be_deleted_by_nobody(template: Template, spec: FunctionSpec) -> None:
    for key in ("memory/a/_tombstones/x.json", "memory/a/_index/HEAD", "memory/a/_ids/x", "memory/_namespaces/a"):
        call = Call("s3:DeleteObject", f"{BUCKET}/{key}", {})
        assert not is_allowed(call, statements_of(template, spec.name)), key


@every_function
def test_earlier_versions_of_memories_can_be_deleted_by_erasers_only(template: Template, spec: FunctionSpec) -> None:
    call = Call("s3:DeleteObjectVersion", f"{BUCKET}/memory/a/semantic/x.json", {})
    assert is_allowed(call, statements_of(template, spec.name)) == (spec.name in ERASERS)


@every_function
def test_earlier_versions_of_what_brings_nothing_back_can_be_deleted_by_nobody(
    template: Template, spec: FunctionSpec
) -> None:
    statements = statements_of(template, spec.name)
    for key in ("memory/a/_tombstones/x.json", "memory/a/_ids/x", "memory/a/_index/HEAD", "auth/tokens/0.json"):
        assert not is_allowed(Call("s3:DeleteObjectVersion", f"{BUCKET}/{key}", {}), statements), key


@every_function
def test_versions_are_never_listed_of_everything(template: Template, spec: FunctionSpec) -> None:
    statements = statements_of(template, spec.name)
    for context in ({}, {"s3:prefix": "memory/"}, {"s3:prefix": "auth/"}):
        assert not is_allowed(Call("s3:ListBucketVersions", BUCKET, context), statements), context
    contents = Call("s3:ListBucketVersions", BUCKET, {"s3:prefix": "memory/users/alice/semantic/"})
    assert is_allowed(contents, statements) == (spec.name in ERASERS)


@every_function
def test_a_read_of_a_missing_key_is_answered_404_and_not_403(template: Template, spec: FunctionSpec) -> None:
    # S3 looks whether the reader may list the bucket; there is no prefix in such a request.
    assert is_allowed(Call("s3:ListBucket", BUCKET, {}), statements_of(template, spec.name))


@pytest.mark.parametrize(
    "key",
    [
        "memory/users/alice/semantic/units.json",
        "memory/a/_tombstones/units.json",
        "memory/a/_ids/units",
        "memory/a/_index/HEAD",
        "auth/tokens/00.json",
        "sessions/a/_windows/00.json",
        "sessions/a/_batches/00/1/1.turns.json",
    ],
)
def test_the_bucket_policy_tells_a_blind_write_from_a_careful_one(template: Template, key: str) -> None:
    statements = bucket_statements(template)
    base = {"aws:SecureTransport": "true", "s3:TlsVersion": "1.2", "s3:ObjectCreationOperation": "true"}
    assert is_denied(Call("s3:PutObject", f"{BUCKET}/{key}", base), statements)
    assert not is_denied(Call("s3:PutObject", f"{BUCKET}/{key}", {**base, "s3:if-match": "x"}), statements)
    assert not is_denied(Call("s3:PutObject", f"{BUCKET}/{key}", {**base, "s3:if-none-match": "*"}), statements)


def test_a_part_of_a_multipart_upload_needs_no_condition(template: Template) -> None:
    context = {"aws:SecureTransport": "true", "s3:TlsVersion": "1.2", "s3:ObjectCreationOperation": "false"}
    call = Call("s3:PutObject", f"{BUCKET}/memory/a/semantic/x.json", context)
    assert not is_denied(call, bucket_statements(template))


def test_requests_without_tls_are_denied(template: Template) -> None:
    call = Call("s3:GetObject", f"{BUCKET}/memory/a/semantic/x.json", {"aws:SecureTransport": "false"})
    assert is_denied(call, bucket_statements(template))


def test_the_patterns_of_memories_cover_every_kind() -> None:
    assert [kind.value for kind in Kind] == list(names.KIND_FOLDERS)
    assert len(permissions.MEMORIES) == len(Kind)
