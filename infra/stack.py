"""The stack: puts the constructs together, and tells the outside where to find them."""

from collections.abc import Mapping

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from infra import names
from infra.api import MemoryApi
from infra.function_table import (
    AUTHORIZER,
    CONSOLIDATOR,
    DIGESTER,
    EMBEDDER,
    HTTP_API,
    INDEXER,
    MCP_ENDPOINT,
    PRUNER,
    SWEEPER,
    FunctionSpec,
    chosen_functions,
)
from infra.functions import MemoryFunction
from infra.identity import MemoryUserPool, given_environment
from infra.layer_build import build_layer
from infra.layers import LayerBuilder, make_layers
from infra.monitoring import Monitoring
from infra.pipeline import ObjectPipeline
from infra.schedules import RoundSchedules
from infra.settings import Settings
from infra.storage import MemoryBucket


class AgentMemoryStack(Stack):
    """Everything that one deployment is made of.

    Args:
        build: returns the folder of a layer; another one than the real one makes a template without content.
    """

    def __init__(self, scope: Construct, settings: Settings, *, build: LayerBuilder = build_layer) -> None:
        super().__init__(
            scope,
            settings.stack_name,
            description="s3-agent-memory: long-term memory for AI agents in a bucket of your own",
        )
        self._settings = settings
        self.storage = MemoryBucket(self, "Memory", settings=settings)
        specs = chosen_functions(settings)
        layer_names = {name for spec in specs for name in spec.layers(settings)}
        self._layers = make_layers(self, layer_names, settings=settings, build=build)
        self.functions = {spec.name: self._make_function(spec) for spec in specs}

        self.api = MemoryApi(
            self,
            "Api",
            settings=settings,
            functions={spec.name: self.functions[spec.name] for spec in (HTTP_API, MCP_ENDPOINT)},
            authorizer=self.functions[AUTHORIZER.name],
        )
        self.user_pool = MemoryUserPool(self, "Identity", settings=settings) if settings.cognito else None
        for spec in (AUTHORIZER, MCP_ENDPOINT):
            self.functions[spec.name].add_environment(self._access_environment())

        self.pipelines = self._make_pipelines()
        self.rounds = RoundSchedules(self, "Rounds")
        self.rounds.add(self.functions[PRUNER.name], rate=settings.prune_rate)
        self.rounds.add(self.functions[SWEEPER.name], rate=settings.sweep_rate)
        self.rounds.add(self.functions[DIGESTER.name], rate=settings.session_sweep_rate)
        self.rounds.add(self.functions[CONSOLIDATOR.name], rate=settings.consolidation_rate)

        self.monitoring = Monitoring(
            self,
            "Monitoring",
            settings=settings,
            api=self.api,
            functions=tuple(self.functions.values()),
            pipelines=self.pipelines,
            rounds=self.rounds,
        )
        self._add_outputs()

    def _make_function(self, spec: FunctionSpec) -> MemoryFunction:
        return MemoryFunction(self, spec, settings=self._settings, bucket=self.storage.bucket, layers=self._layers)

    def _access_environment(self) -> Mapping[str, str]:
        """Return how the outside reaches the API and proves who it is."""
        origins = [origin for origin in self._settings.cors_allow_origins if origin != "*"]
        identity = self.user_pool.environment if self.user_pool else given_environment(self._settings)
        return {
            names.ENV_PUBLIC_URL: self.api.url,
            names.ENV_ALLOWED_HOSTS: self.api.host,
            **({names.ENV_ALLOWED_ORIGINS: " ".join(origins)} if origins else {}),
            **identity,
        }

    def _make_pipelines(self) -> list[ObjectPipeline]:
        """Return the pipelines: an object wakes the function whose prefix and suffix its key has."""
        settings, memory = self._settings, names.MEMORY_PREFIX
        wanted = (
            ("Indexing", INDEXER, settings.indexer_queue, memory, names.OBJECT_SUFFIX),
            ("Embedding", EMBEDDER, settings.embedder_queue, memory, names.SEGMENT_SUFFIX),
            ("Digesting", DIGESTER, settings.digester_queue, names.SESSION_PREFIX, names.TURNS_SUFFIX),
        )
        return [
            ObjectPipeline(
                self,
                id,
                settings=queue,
                storage=self.storage,
                function=self.functions[spec.name],
                prefix=prefix,
                suffix=suffix,
            )
            for id, spec, queue, prefix, suffix in wanted
            if spec.name in self.functions
        ]

    def _add_outputs(self) -> None:
        bucket_name = self.storage.bucket.bucket_name
        outputs = [
            (names.API_URL, self.api.url, "of the API; its description is at /openapi.json"),
            (names.API_ENDPOINT, self.api.api.api_endpoint, "of the API at AWS, for what stands in front of it"),
            (names.MCP_URL, f"{self.api.url}{names.MCP_PATH}", "of the MCP endpoint, as clients are given it"),
            (names.BUCKET_NAME, bucket_name, "of the bucket with all memories"),
            (names.STORE_URL, f"s3://{bucket_name}", "for the command line: s3-agent-memory --url"),
            (names.DASHBOARD_NAME, self.monitoring.dashboard.dashboard_name, "of the dashboard in CloudWatch"),
        ]
        outputs += [
            (
                f"{pipeline.function_id}{names.DEAD_LETTER_QUEUE_URL}",
                pipeline.dead_letters.queue_url,
                "of what it could not work on",
            )
            for pipeline in self.pipelines
        ]
        if self.user_pool is not None:
            outputs += [
                (names.USER_POOL_ID, self.user_pool.pool.user_pool_id, "of the user pool"),
                (names.OAUTH_CLIENT_ID, self.user_pool.client.user_pool_client_id, "for clients that do not register"),
            ]
        for name, value, description in outputs:
            CfnOutput(self, name, value=value, description=description)
