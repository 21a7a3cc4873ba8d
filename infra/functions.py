"""Functions: the construct that makes any of the table."""

from collections.abc import Mapping
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra import names
from infra.acknowledgements import acknowledge, acknowledge_wildcards, logical_id_of
from infra.environments import invocation, models_of, with_api_key
from infra.function_table import FunctionSpec
from infra.layer_build import ROOT
from infra.log_groups import make_log_group
from infra.settings import Settings

_WHERE_FAILURES_GO: Final = {
    False: "It is never invoked asynchronously: its caller, or the queue it reads, learns of a failure.",
    True: "A run that failed goes to the queue of its on-failure destination, which also says why.",
}


class MemoryFunction(Construct):
    """One function with its role, its log and, if people wait for it, a snapshot to start from.

    Attributes:
        spec: what it is.
        function: the function itself.
        target: what callers call: the alias of the published version, or the function.
    """

    def __init__(
        self,
        scope: Construct,
        spec: FunctionSpec,
        *,
        settings: Settings,
        bucket: s3.Bucket,
        layers: Mapping[str, lambda_.ILayerVersion],
    ) -> None:
        super().__init__(scope, spec.construct_id)
        self.spec = spec
        log_group = make_log_group(self, "Log", retention_days=settings.log_retention_days)
        self.role = self._make_role(bucket, log_group, settings)
        runtime = make_runtime(settings)
        has_snapshot = spec.is_fast_start and settings.snap_start and runtime.supports_snap_start
        self.function = lambda_.Function(
            self,
            "Function",
            description=f"s3-agent-memory: {spec.name}",
            runtime=runtime,
            architecture=make_architecture(settings),
            handler=names.HANDLER,
            code=lambda_.Code.from_asset(str(ROOT / "functions" / spec.name), exclude=["__pycache__"]),
            layers=[layers[name] for name in spec.layers(settings)],
            role=self.role,
            memory_size=spec.memory(settings),
            timeout=Duration.seconds(spec.timeout(settings)),
            environment={
                names.ENV_URL: f"s3://{bucket.bucket_name}",
                names.ENV_LANGUAGE: settings.language,
                names.ENV_EMBEDDINGS: settings.embeddings if spec.embeds else "none",
                **(settings.conversation if spec.converses else {}),
                **(with_api_key(settings.model, settings.model_api_key_secret_arn) if spec.generates else {}),
            },
            log_group=log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            tracing=lambda_.Tracing.ACTIVE,
            snap_start=lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if has_snapshot else None,
            reserved_concurrent_executions=settings.reserved_concurrency.get(spec.name),
        )
        self.target: lambda_.IFunction = self.function
        if spec.is_fast_start:
            acknowledge(
                self.function,
                "@aws-cdk/aws-lambda:snapStartRequirePublish",
                reason="Callers use the alias, which names a published version.",
            )
            self.target = lambda_.Alias(self, "Alias", alias_name=names.ALIAS, version=self.function.current_version)
        self._acknowledge(bucket)

    def add_environment(self, environment: Mapping[str, str]) -> None:
        """Add environment variables, which may name what is made later than the function."""
        for name, value in environment.items():
            self.function.add_environment(name, value)

    def _make_role(self, bucket: s3.Bucket, log_group: logs.LogGroup, settings: Settings) -> iam.Role:
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"What the function {self.spec.name} may do",
        )
        for statement in self.spec.access.statements(bucket):
            role.add_to_policy(statement)
        if self.spec.generates and (calls_model := invocation(settings.model)):
            role.add_to_policy(calls_model)
            acknowledge_wildcards(
                role,
                [models_of(settings.model)],
                reason="An inference profile calls its one model in any region of its group.",
            )
        log_group.grant_write(role)
        if bucket.encryption_key is not None:
            # Writers decrypt too: a condition on an object is checked by reading it.
            actions = ["kms:Decrypt", *(["kms:GenerateDataKey"] if self.spec.access.write else [])]
            role.add_to_policy(iam.PolicyStatement(actions=actions, resources=[bucket.encryption_key.key_arn]))
        return role

    def _acknowledge(self, bucket: s3.Bucket) -> None:
        access = self.spec.access
        patterns = dict.fromkeys(
            pattern for pattern in (*access.read, *access.write, *access.delete, *access.purge) if "*" in pattern
        )
        acknowledge_wildcards(
            self.role,
            [f"<{logical_id_of(bucket)}.Arn>/{pattern}" for pattern in patterns],
            reason="Namespaces and ids are part of keys; the patterns are the narrowest that cover all of them.",
        )
        acknowledge_wildcards(self.role, ["*"], reason="X-Ray knows no resources that a policy could name.")
        acknowledge(
            self.function,
            "AwsSolutions-L1",
            "Serverless-LambdaLatestVersion",
            reason="A runtime is used once all tests have passed on its version of Python, which takes a while.",
        )
        acknowledge(self.function, "Serverless-LambdaDLQ", reason=_WHERE_FAILURES_GO[self.spec.is_scheduled])


def make_architecture(settings: Settings) -> lambda_.Architecture:
    """Return the architecture of functions and layers."""
    return lambda_.Architecture.ARM_64 if settings.architecture == "arm64" else lambda_.Architecture.X86_64


def make_runtime(settings: Settings) -> lambda_.Runtime:
    """Return the runtime of functions and layers."""
    runtime: lambda_.Runtime = getattr(lambda_.Runtime, f"PYTHON_{settings.python_version.replace('.', '_')}")
    return runtime
