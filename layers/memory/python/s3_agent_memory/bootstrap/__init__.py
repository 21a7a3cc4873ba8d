"""The composition root: the one place that reads the environment, picks adapters and puts services together."""

from s3_agent_memory.bootstrap.builders import (
    build_access_settings,
    build_api_services,
    build_api_store,
    build_cli_store,
    build_consolidator,
    build_conversations,
    build_digester,
    build_embedding_worker,
    build_indexer,
    build_pruner,
    build_store,
    build_sweeper,
    build_token_service,
)
from s3_agent_memory.bootstrap.models import build_embedder, build_generator, build_summariser
from s3_agent_memory.bootstrap.parts import MemoryStore, Parts
from s3_agent_memory.bootstrap.settings import Settings
from s3_agent_memory.bootstrap.stores import observe_changes, open_object_store, store_directory

__all__ = [
    "MemoryStore",
    "Parts",
    "Settings",
    "build_access_settings",
    "build_api_services",
    "build_api_store",
    "build_cli_store",
    "build_consolidator",
    "build_conversations",
    "build_digester",
    "build_embedder",
    "build_embedding_worker",
    "build_generator",
    "build_indexer",
    "build_pruner",
    "build_store",
    "build_summariser",
    "build_sweeper",
    "build_token_service",
    "observe_changes",
    "open_object_store",
    "store_directory",
]
