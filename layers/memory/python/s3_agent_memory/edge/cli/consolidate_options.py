"""The options of ``consolidate``; it imports nothing heavy."""

import argparse
from typing import Final

from s3_agent_memory import names
from s3_agent_memory.domain.kinds import Kind

SUMMARISERS: Final = ("longest", *(name for name in names.MODEL_PROVIDERS if name != names.DEFAULT_MODEL_PROVIDER))


def add_consolidation(parser: argparse.ArgumentParser) -> None:
    """Add what says how memories are to be consolidated."""
    parser.add_argument("--kind", choices=[kind.value for kind in Kind], help="only memories of this kind")
    parser.add_argument(
        "--threshold",
        type=float,
        metavar="F",
        help="how alike texts that say the same must be in their words or by their vectors, 0 to 1 (default: 0.5)",
    )
    parser.add_argument(
        "--summariser",
        choices=SUMMARISERS,
        help=f"what writes the merged text; longest asks no model (default: ${names.ENV_MODEL_PROVIDER} or longest)",
    )
    parser.add_argument("--model", metavar="M", help="the model of the summariser")
    parser.add_argument("--dry-run", action="store_true", help="show what would be merged, and change nothing")
    parser.add_argument(
        "--undo-days",
        type=float,
        metavar="N",
        help="days in which it can be undone, then the originals are forgotten; 0 forgets them at once (default: 7)",
    )
    parser.add_argument("--merges", type=int, metavar="N", help="at most so many merges (default: 1000)")


def add_run_id(parser: argparse.ArgumentParser) -> None:
    """Add the id of a run."""
    parser.add_argument("run_id", metavar="RUN_ID", help="the id that consolidate and consolidate runs show")
