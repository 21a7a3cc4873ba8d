"""The command ``consolidate``: merges memories that say the same, shows what it would merge, and takes it back."""

import argparse
from dataclasses import asdict

from s3_agent_memory import bootstrap
from s3_agent_memory.bootstrap import MemoryStore, Settings
from s3_agent_memory.domain.consolidation import RunState
from s3_agent_memory.edge.cli.output import Answer, progress_bar
from s3_agent_memory.edge.consolidation_documents import plan_document, run_document, run_summary
from s3_agent_memory.errors import ValidationError


def consolidate(arguments: argparse.Namespace, settings: Settings) -> Answer:
    """Consolidate, or show the plan."""
    store = _open(settings)
    if arguments.dry_run:
        with progress_bar("compare") as progress:
            plan = store.plan_consolidation(
                settings.namespace,
                kind=arguments.kind,
                threshold=arguments.threshold,
                merge_count_max=arguments.merges,
                progress=progress,
            )
        return Answer(plan_document(plan))
    if arguments.model is not None and arguments.summariser == "longest":
        raise ValidationError("--model needs a --summariser that asks a model")
    with progress_bar("consolidate") as progress:
        run = store.consolidate(
            settings.namespace,
            kind=arguments.kind,
            threshold=arguments.threshold,
            undo_days=arguments.undo_days,
            merge_count_max=arguments.merges,
            summariser=bootstrap.build_summariser(arguments.summariser, model=arguments.model),
            progress=progress,
        )
    return Answer(run_document(run))


def undo(arguments: argparse.Namespace, settings: Settings) -> Answer:
    """Take back what a run merged."""
    report = _open(settings).undo_consolidation(settings.namespace, arguments.run_id)
    return Answer({**asdict(report), "state": RunState.UNDONE.value})


def runs(_arguments: argparse.Namespace, settings: Settings) -> Answer:
    """Show all runs, the oldest first."""
    return Answer({"runs": [run_summary(run) for run in _open(settings).consolidations(settings.namespace)]})


def _open(settings: Settings) -> MemoryStore:
    return bootstrap.build_cli_store(settings)
