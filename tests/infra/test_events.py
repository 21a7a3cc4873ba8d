"""Pipeline and schedules: every change reaches the indexer, nothing loops, and what fails is kept."""

import pytest

from infra import names
from infra.function_table import FUNCTIONS
from s3_agent_memory.domain.keys import parse_segment_key, parse_truth_key
from s3_agent_memory.service.conversations.digest_worker import RESERVE_MS as DIGESTER_MS
from s3_agent_memory.service.upkeep.embedding_worker import RESERVE_MS as EMBEDDER_MS
from s3_agent_memory.service.upkeep.indexer import RESERVE_MS as INDEXER_MS
from tests.infra.journeys import calls_of
from tests.infra.synthesis import Resource, Template, read_settings, synthesise

QUEUE = "AWS::SQS::Queue"
# Each with the name of its function.
PIPELINES = {"Indexing": "indexer", "Embedding": "embedder", "Digesting": "digester"}


def notifications(template: Template) -> list[Resource]:
    found: list[Resource] = template.one("AWS::S3::Bucket")["NotificationConfiguration"]["QueueConfigurations"]
    return found


def woken_by(template: Template, key: str) -> set[str]:
    """Return which pipelines a written object reaches."""
    queues = set()
    for found in notifications(template):
        parts = {rule["Name"]: rule["Value"] for rule in found["Filter"]["S3Key"]["Rules"]}
        if key.startswith(parts["prefix"]) and key.endswith(parts["suffix"]):
            queues.add(found["Queue"]["Fn::GetAtt"][0].partition("Queue")[0])
    return queues


def written_by(name: str) -> set[str]:
    embeds = next(spec.embeds for spec in FUNCTIONS if spec.name == name)
    written = {call.key for call in calls_of(name, embeds=embeds) if call.action == "s3:PutObject"}
    assert written
    return written


@pytest.mark.parametrize("name", ["http_api", "mcp_endpoint"])
def test_every_written_memory_and_tombstone_wakes_the_indexer(template: Template, name: str) -> None:
    truth = {key for key in written_by(name) if parse_truth_key(key)}
    assert truth
    assert all(woken_by(template, key) == {"Indexing"} for key in truth)


def test_every_new_segment_wakes_the_embedder(template: Template) -> None:
    segments = {key for key in written_by("indexer") if parse_segment_key(key)}
    assert segments
    assert all(woken_by(template, key) == {"Embedding"} for key in segments)


def test_turns_that_left_a_window_wake_the_digester_and_nothing_else_of_a_session(template: Template) -> None:
    of_sessions = {key for key in written_by("http_api") if key.startswith(names.SESSION_PREFIX)}
    turns = {key for key in of_sessions if key.endswith(names.TURNS_SUFFIX)}
    assert turns
    assert all(woken_by(template, key) == {"Digesting"} for key in turns)
    assert not [key for key in of_sessions - turns if woken_by(template, key)]


def test_what_the_digester_makes_of_turns_does_not_wake_it(template: Template) -> None:
    assert not [key for key in written_by("digester") if "Digesting" in woken_by(template, key)]


def test_of_the_sweeper_only_what_it_erases_wakes_the_indexer(template: Template) -> None:
    waking = {key for key in written_by("sweeper") if "Indexing" in woken_by(template, key)}
    foreign = {key for key in waking if f"/{names.TOMBSTONE_FOLDER}/" not in key}
    assert all(key.startswith(names.ERASURE_PREFIX) for key in foreign), foreign


@pytest.mark.parametrize("name", ["indexer", "embedder"])
def test_nothing_that_keeps_an_index_wakes_the_indexer(template: Template, name: str) -> None:
    assert not [key for key in written_by(name) if "Indexing" in woken_by(template, key)]


def test_the_embedder_wakes_nobody(template: Template) -> None:
    assert not [key for key in written_by("embedder") if woken_by(template, key)]


def test_only_writes_are_events(template: Template) -> None:
    assert {found["Event"] for found in notifications(template)} == {"s3:ObjectCreated:*"}


def test_neither_log_nor_tokens_are_events(template: Template) -> None:
    for key in ("memory/a/_index/log/1-2", "memory/a/_index/HEAD", "auth/tokens/0.json", "memory/_rounds/pruner"):
        assert not woken_by(template, key)


def test_without_embeddings_there_is_no_embedder() -> None:
    template = synthesise(embeddings="none")
    assert woken_by(template, "memory/a/_index/segments/1.seg") == set()
    assert not [name for name in template.all("AWS::Lambda::Function") if name.startswith("Embedder")]
    assert not [name for name in template.all("AWS::Lambda::LayerVersion") if name.startswith("Onnx")]


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_only_buckets_of_the_account_may_send_to_a_queue(template: Template, pipeline: str) -> None:
    policy = template.one("AWS::SQS::QueuePolicy", starts=f"{pipeline}Queue")
    (allowed,) = [item for item in policy["PolicyDocument"]["Statement"] if item["Effect"] == "Allow"]
    assert allowed["Principal"] == {"Service": "s3.amazonaws.com"}
    assert allowed["Action"] == "sqs:SendMessage"
    assert allowed["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


def test_the_bucket_waits_for_the_permission_to_send(template: Template) -> None:
    (bucket,) = template.all("AWS::S3::Bucket").values()
    for pipeline in PIPELINES:
        assert [name for name in bucket["DependsOn"] if name.startswith(f"{pipeline}QueuePolicy")]


def test_every_queue_is_encrypted_and_reached_by_tls_only(template: Template) -> None:
    queues = template.all(QUEUE)
    policies = template.all("AWS::SQS::QueuePolicy").values()
    guarded = {
        queue["Ref"]
        for policy in policies
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if (statement["Effect"], statement.get("Condition")) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})
        for queue in policy["Properties"]["Queues"]
    }
    assert guarded == set(queues)
    assert all(queue["Properties"]["SqsManagedSseEnabled"] for queue in queues.values())


@pytest.mark.parametrize(("pipeline", "receive_count_max"), [("Indexing", 5), ("Embedding", 20), ("Digesting", 20)])
def test_a_message_that_fails_too_often_is_kept_for_two_weeks(
    template: Template, pipeline: str, receive_count_max: int
) -> None:
    queue = template.one(QUEUE, starts=f"{pipeline}Queue")
    dead_letters_id = queue["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]
    assert queue["RedrivePolicy"]["maxReceiveCount"] == receive_count_max
    assert template.all(QUEUE)[dead_letters_id]["Properties"]["MessageRetentionPeriod"] == 14 * 86_400
    output = PIPELINES[pipeline].capitalize() + names.DEAD_LETTER_QUEUE_URL
    assert template.outputs[output]["Value"] == {"Ref": dead_letters_id}


@pytest.mark.parametrize(("pipeline", "factor"), [("Indexing", 6), ("Embedding", 2), ("Digesting", 2)])
def test_messages_stay_hidden_for_longer_than_their_function_may_take(
    template: Template, pipeline: str, factor: int
) -> None:
    visibility = template.one(QUEUE, starts=f"{pipeline}Queue")["VisibilityTimeout"]
    window = mapping_of(template, pipeline)["MaximumBatchingWindowInSeconds"]
    assert visibility == factor * template.function(PIPELINES[pipeline])["Timeout"] + window


@pytest.mark.parametrize(
    ("pipeline", "concurrency", "window_seconds"), [("Indexing", 5, 60), ("Embedding", 2, 60), ("Digesting", 5, 5)]
)
def test_batches_are_windows_of_changes_with_partial_failures(
    template: Template, pipeline: str, concurrency: int, window_seconds: int
) -> None:
    mapping = mapping_of(template, pipeline)
    assert mapping["BatchSize"] == 1_000
    assert mapping["MaximumBatchingWindowInSeconds"] == window_seconds
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": concurrency}
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def mapping_of(template: Template, pipeline: str) -> Resource:
    return template.one("AWS::Lambda::EventSourceMapping", starts=PIPELINES[pipeline].capitalize())


@pytest.mark.parametrize(
    ("name", "least", "reserve_ms"),
    [("indexer", 30, INDEXER_MS), ("embedder", 60, EMBEDDER_MS), ("digester", 120, DIGESTER_MS)],
)
def test_a_long_run_has_time_for_more_than_what_it_keeps_in_reserve(name: str, least: int, reserve_ms: int) -> None:
    with pytest.raises(ValueError, match=f"from {least}"):
        read_settings(**{f"{name}TimeoutSeconds": least - 1})
    assert least * 1_000 >= 2 * reserve_ms


def test_batches_are_settings() -> None:
    template = synthesise(
        indexerBatchWindowSeconds="1",
        indexerMaximumConcurrency="2",
        indexerTimeoutSeconds="30",
        visibilityTimeoutSeconds="32",
        indexerReceiveCountMax="3",
    )
    mapping = mapping_of(template, "Indexing")
    assert mapping["MaximumBatchingWindowInSeconds"] == 1
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": 2}
    queue = template.one(QUEUE, starts="IndexingQueue")
    assert (queue["VisibilityTimeout"], queue["RedrivePolicy"]["maxReceiveCount"]) == (32, 3)
    assert template.function("indexer")["Timeout"] == 30


def test_without_a_limit_lambda_decides_how_much_it_polls() -> None:
    template = synthesise(**{f"{name}MaximumConcurrency": "0" for name in PIPELINES.values()})
    for mapping in template.all("AWS::Lambda::EventSourceMapping").values():
        assert "ScalingConfig" not in mapping["Properties"]


def test_the_queue_of_the_embedder_has_settings_of_its_own() -> None:
    template = synthesise(embedderBatchWindowSeconds="5", embedderMaximumConcurrency="3", embedderTimeoutSeconds="120")
    mapping = mapping_of(template, "Embedding")
    assert mapping["MaximumBatchingWindowInSeconds"] == 5
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": 3}
    assert template.function("embedder")["Timeout"] == 120
    assert template.one(QUEUE, starts="EmbeddingQueue")["VisibilityTimeout"] == 245


@pytest.mark.parametrize(
    ("name", "expected"), [("Pruner", "rate(1 day)"), ("Sweeper", "rate(1 day)"), ("Digester", "rate(1 day)")]
)
def test_rounds_are_scheduled(template: Template, name: str, expected: str) -> None:
    schedule = template.one("AWS::Scheduler::Schedule", starts=f"Rounds{name}")
    assert schedule["ScheduleExpression"] == expected
    assert schedule["Target"]["Arn"]["Fn::GetAtt"][0].startswith(f"{name}Function")


def test_rates_are_settings() -> None:
    template = synthesise(
        pruneRate="rate(1 minute)",
        sweepRate="cron(0 3 * * ? *)",
        sessionSweepRate="rate(2 hours)",
        consolidationRate="rate(3 hours)",
    )
    found = {item["Properties"]["ScheduleExpression"] for item in template.all("AWS::Scheduler::Schedule").values()}
    assert found == {"rate(1 minute)", "cron(0 3 * * ? *)", "rate(2 hours)", "rate(3 hours)"}


def test_every_scheduled_function_has_one_schedule(template: Template) -> None:
    scheduled = [spec.construct_id for spec in FUNCTIONS if spec.is_scheduled]
    assert len(template.all("AWS::Scheduler::Schedule")) == len(scheduled)


def test_a_schedule_may_call_its_function_and_send_what_it_could_not(template: Template) -> None:
    for schedule in template.all("AWS::Scheduler::Schedule").values():
        target = schedule["Properties"]["Target"]
        function_id, dead_letters_id = (target[key] for key in ("Arn", "DeadLetterConfig"))
        role_id = target["RoleArn"]["Fn::GetAtt"][0]
        allowed = {
            statement["Action"]: set(template.logical_ids(statement["Resource"]))
            for policy in template.all("AWS::IAM::Policy").values()
            if {"Ref": role_id} in policy["Properties"]["Roles"]
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        }
        assert allowed == {
            "lambda:InvokeFunction": {function_id["Fn::GetAtt"][0]},
            "sqs:SendMessage": {dead_letters_id["Arn"]["Fn::GetAtt"][0]},
        }


def test_only_schedules_of_the_account_take_their_roles(template: Template) -> None:
    for name, role in template.all("AWS::IAM::Role").items():
        if name.startswith("Rounds"):
            (statement,) = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
            assert statement["Principal"] == {"Service": "scheduler.amazonaws.com"}
            assert statement["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


def test_a_round_that_fails_is_kept(template: Template) -> None:
    configurations = template.all("AWS::Lambda::EventInvokeConfig").values()
    assert len(configurations) == sum(spec.is_scheduled for spec in FUNCTIONS)
    for configuration in configurations:
        destination = configuration["Properties"]["DestinationConfig"]["OnFailure"]["Destination"]
        assert destination["Fn::GetAtt"][0].startswith("RoundsDeadLetters")
