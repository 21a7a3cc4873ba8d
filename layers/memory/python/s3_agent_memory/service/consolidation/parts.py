"""The services of consolidation, put together once."""

from dataclasses import dataclass

from s3_agent_memory.service.consolidation.consolidator import Consolidator
from s3_agent_memory.service.consolidation.duplicate_finder import DuplicateFinder
from s3_agent_memory.service.consolidation.merge_applier import MergeApplier
from s3_agent_memory.service.consolidation.original_check import OriginalCheck
from s3_agent_memory.service.consolidation.settler import ConsolidationSettler
from s3_agent_memory.service.memories.writer import MemoryWriter
from s3_agent_memory.service.runtime import Runtime
from s3_agent_memory.service.stored_index.index_reader import IndexReader
from s3_agent_memory.service.truth import Truth
from s3_agent_memory.service.upkeep.folder import Folder


@dataclass(frozen=True, slots=True)
class Consolidations:
    """What consolidates, and what ends consolidations."""

    consolidator: Consolidator
    settler: ConsolidationSettler


def assemble_consolidations(
    runtime: Runtime, truth: Truth, *, index: IndexReader, writer: MemoryWriter, folder: Folder
) -> Consolidations:
    """Return the services of consolidation over one store."""
    settler = ConsolidationSettler(runtime, truth, writer)
    applier = MergeApplier(
        runtime,
        truth,
        originals=OriginalCheck(runtime, truth, index),
        writer=writer,
        folder=folder,
        settler=settler,
    )
    finder = DuplicateFinder(runtime, truth, index)
    return Consolidations(Consolidator(runtime, finder=finder, applier=applier, settler=settler), settler)
