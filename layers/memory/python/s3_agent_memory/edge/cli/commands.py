"""What each command does: translate options, call the library once, answer with a JSON document."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, Final

from s3_agent_memory import bootstrap
from s3_agent_memory.bootstrap import MemoryStore, Settings
from s3_agent_memory.domain.clock import SystemClock
from s3_agent_memory.domain.keys import parse_namespace
from s3_agent_memory.domain.memory import IMPORTANCE_DEFAULT, Attribution
from s3_agent_memory.edge.cli import consolidate as cli_consolidate
from s3_agent_memory.edge.cli import cost as cli_cost
from s3_agent_memory.edge.cli import erasure as cli_erasure
from s3_agent_memory.edge.cli import transfer as cli_transfer
from s3_agent_memory.edge.cli.output import (
    Answer,
    grant_document,
    progress_bar,
    report_document,
)
from s3_agent_memory.edge.cli.streams import print_error
from s3_agent_memory.edge.cli.succession import successor_arguments
from s3_agent_memory.edge.documents import (
    history_document,
    memory_document,
    page_document,
    recall_document,
    stats_document,
)
from s3_agent_memory.errors import ValidationError

SECONDS_PER_DAY: Final = 86_400
_STORE_OPTIONS: Final = ("url", "namespace", "embeddings", "embedding_model")


def run(arguments: argparse.Namespace) -> Answer:
    """Run the command that was parsed and return its answer.

    Raises:
        AgentMemoryError: what the library raised.
    """
    settings = Settings.from_environment()
    given = {name: value for name in _STORE_OPTIONS if (value := getattr(arguments, name, None)) is not None}
    return _COMMANDS[arguments.command](arguments, replace(settings, **given))


def _open(settings: Settings) -> MemoryStore:
    return bootstrap.build_cli_store(settings)


def _remember(arguments: argparse.Namespace, settings: Settings) -> Answer:
    memory = _open(settings).remember(
        settings.namespace,
        arguments.text,
        kind=arguments.kind or "semantic",
        tags=arguments.tags or (),
        importance=IMPORTANCE_DEFAULT if arguments.importance is None else arguments.importance,
        ttl=_seconds(arguments.ttl_days),
        source=arguments.source,
        data=arguments.data,
        metadata=arguments.metadata,
        valid_from=arguments.valid_from,
        valid_to=arguments.valid_to,
        pinned=bool(arguments.pinned),
        attribution=Attribution(**{item.name: getattr(arguments, item.name) for item in fields(Attribution)}),
        id=arguments.id,
        resurrect=arguments.resurrect,
    )
    return Answer(memory_document(memory))


def _update(arguments: argparse.Namespace, settings: Settings) -> Answer:
    memory = _open(settings).update(
        settings.namespace,
        arguments.id,
        expected_version=arguments.expected_version,
        **_changes(arguments),
    )
    return Answer(memory_document(memory))


def _changes(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of an update: what an option sets, what ``--clear`` empties, and nothing else."""
    given = {name: value for name in _CHANGEABLE if (value := getattr(arguments, name)) is not None}
    if arguments.ttl_days is not None:
        given["ttl"] = _seconds(arguments.ttl_days)
    cleared = {_CLEARED[field][0]: _CLEARED[field][1] for field in arguments.clear}
    both = sorted(cleared.keys() & given.keys())
    if both:
        raise ValidationError(f"{both[0]} is both set and cleared; choose one")
    return given | cleared


_CHANGEABLE: Final = (
    "content",
    "source",
    "importance",
    "tags",
    "data",
    "metadata",
    "valid_from",
    "valid_to",
    "pinned",
)

# What --clear FIELD passes to an update: the argument and the value that empties it.
_CLEARED: Final[Mapping[str, tuple[str, object]]] = {
    "source": ("source", None),
    "tags": ("tags", ()),
    "data": ("data", None),
    "metadata": ("metadata", None),
    "expiry": ("ttl", None),
    "valid-from": ("valid_from", None),
    "valid-to": ("valid_to", None),
}


def _forget(arguments: argparse.Namespace, settings: Settings) -> Answer:
    _open(settings).forget(settings.namespace, arguments.id, reason=arguments.reason)
    return Answer({"id": arguments.id, "forgotten": True})


def _recall(arguments: argparse.Namespace, settings: Settings) -> Answer:
    result = _open(settings).recall(
        settings.namespace, arguments.query, explain=arguments.explain, **_selection(arguments)
    )
    return Answer(recall_document(result))


def _get(arguments: argparse.Namespace, settings: Settings) -> Answer:
    return Answer(memory_document(_open(settings).get(settings.namespace, arguments.id)))


def _list(arguments: argparse.Namespace, settings: Settings) -> Answer:
    page = _open(settings).list(settings.namespace, cursor=arguments.cursor, **_selection(arguments))
    return Answer(page_document(page))


def _selection(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "kind": arguments.kind,
        "tags": arguments.tags or (),
        "filter": arguments.filter,
        "as_of": arguments.as_of,
        "limit": arguments.limit,
        "consistency": arguments.consistency,
    }


def _supersede(arguments: argparse.Namespace, settings: Settings) -> Answer:
    given = successor_arguments(arguments)
    memory = _open(settings).supersede(settings.namespace, arguments.id, arguments.content, **given)
    return Answer(memory_document(memory))


def _history(arguments: argparse.Namespace, settings: Settings) -> Answer:
    return Answer(history_document(_open(settings).history(settings.namespace, arguments.id)))


def _prune(_arguments: argparse.Namespace, settings: Settings) -> Answer:
    with progress_bar("prune") as progress:
        return Answer(report_document(_open(settings).prune_expired(settings.namespace, progress=progress)))


def _reindex(_arguments: argparse.Namespace, settings: Settings) -> Answer:
    with progress_bar("reindex") as progress:
        return Answer(report_document(_open(settings).reindex(settings.namespace, progress=progress)))


def _sweep(_arguments: argparse.Namespace, settings: Settings) -> Answer:
    return Answer(report_document(_open(settings).sweep(settings.namespace)))


def _erase(arguments: argparse.Namespace, settings: Settings) -> Answer:
    return cli_erasure.erase(arguments, _open(settings), settings.namespace)


def _verify(_arguments: argparse.Namespace, settings: Settings) -> Answer:
    return cli_erasure.verify(_open(settings), settings.namespace)


def _stats(_arguments: argparse.Namespace, settings: Settings) -> Answer:
    return Answer(stats_document(parse_namespace(settings.namespace), _open(settings).stats(settings.namespace)))


def _namespaces(arguments: argparse.Namespace, settings: Settings) -> Answer:
    return Answer({"namespaces": _open(settings).namespaces(arguments.prefix)})


def _serve(arguments: argparse.Namespace, settings: Settings) -> Answer:
    # The MCP SDK takes long to load, and no other command needs it.
    from s3_agent_memory.edge.mcp.stdio import serve_stdio  # noqa: PLC0415

    serve_stdio(
        bootstrap.build_store(settings),
        parse_namespace(settings.namespace),
        read_only=arguments.read_only,
        clock=SystemClock(),
        log=print_error,
    )
    return Answer(None)


def _token_create(arguments: argparse.Namespace, settings: Settings) -> Answer:
    prefix = arguments.namespace_prefix
    if prefix is not None and hasattr(arguments, "namespace"):
        raise ValidationError("give --namespace or --namespace-prefix, not both")
    token, grant = bootstrap.build_token_service(settings).create(
        principal=arguments.principal,
        namespace=settings.namespace if prefix is None else prefix,
        covers_children=prefix is not None,
        permissions=tuple(arguments.permission or ("read", "write")),
        ttl=_seconds(arguments.ttl_days),
    )
    return Answer({"token": token, **grant_document(grant)})


def _token_list(_arguments: argparse.Namespace, settings: Settings) -> Answer:
    return Answer({"tokens": [grant_document(grant) for grant in bootstrap.build_token_service(settings).list()]})


def _token_revoke(arguments: argparse.Namespace, settings: Settings) -> Answer:
    token_id = bootstrap.build_token_service(settings).revoke(arguments.token_id)
    return Answer({"token_id": token_id, "revoked": True})


def _cost(arguments: argparse.Namespace, _settings: Settings) -> Answer:
    return cli_cost.run(arguments)


def _seconds(days: float | None) -> float | None:
    return None if days is None else days * SECONDS_PER_DAY


_COMMANDS: Final[Mapping[str, Callable[[argparse.Namespace, Settings], Answer]]] = {
    "remember": _remember,
    "recall": _recall,
    "get": _get,
    "forget": _forget,
    "update": _update,
    "list": _list,
    "supersede": _supersede,
    "history": _history,
    "prune": _prune,
    "consolidate": cli_consolidate.consolidate,
    "consolidate undo": cli_consolidate.undo,
    "consolidate runs": cli_consolidate.runs,
    "reindex": _reindex,
    "sweep": _sweep,
    "erase": _erase,
    "verify": _verify,
    "stats": _stats,
    "namespaces": _namespaces,
    "export": cli_transfer.run_export,
    "import": cli_transfer.run_import,
    "migrate": cli_transfer.run_migrate,
    "events": cli_transfer.run_events,
    "serve": _serve,
    "token create": _token_create,
    "token list": _token_list,
    "token revoke": _token_revoke,
    "cost": _cost,
}
