"""From consolidations to JSON documents, in the shapes that ``wire.consolidations`` describes."""

from s3_agent_memory.domain.consolidation import ConsolidationRun, Merge, MergeState, run_to_json
from s3_agent_memory.edge.documents import Document
from s3_agent_memory.service.consolidation.duplicate_finder import Findings, PlannedMerge


def run_document(run: ConsolidationRun) -> Document:
    """Return a run with all its merges, and how many of them there are in each state."""
    return run_to_json(run) | {"counts": _counts(run)}


def run_summary(run: ConsolidationRun) -> Document:
    """Return a run without its merges."""
    document = run_document(run)
    del document["merges"]
    return document


def plan_document(plan: Findings) -> Document:
    """Return what a run would merge, with the texts, so that a person can judge it."""
    return {
        "dry_run": True,
        "groups": [_group(item) for item in plan.merges],
        "memories_before": sum(len(item.originals) for item in plan.merges),
        "memories_after": len(plan.merges),
        "examined": plan.examined,
        "compared": plan.compared,
        "is_complete": plan.is_complete,
    }


def _group(item: PlannedMerge) -> Document:
    originals = [{"id": memory.id, "version": memory.version, "content": memory.content} for memory in item.originals]
    return {"kind": item.merge.kind.value, "similarity": _similarity(item.merge), "originals": originals}


def _similarity(merge: Merge) -> Document:
    return {"words": merge.words, "meaning": merge.meaning}


def _counts(run: ConsolidationRun) -> Document:
    return {state.value: len(run.in_state(state)) for state in MergeState}
