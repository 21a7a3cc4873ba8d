"""The commands that move memories and watch them: export, import, migrate, events."""

import argparse
from collections.abc import Callable, Iterator
from typing import Any, Final

from s3_agent_memory import bootstrap
from s3_agent_memory.bootstrap import MemoryStore, Settings
from s3_agent_memory.domain.checksum_line import Checked, with_checksum
from s3_agent_memory.domain.clock import SystemClock
from s3_agent_memory.domain.events import EventPage
from s3_agent_memory.domain.filters import IDENTITY_FIELDS
from s3_agent_memory.domain.json_values import encode_json
from s3_agent_memory.edge.cli.errors import EXIT_OK, EXIT_VALIDATION, exit_code_of
from s3_agent_memory.edge.cli.output import Answer, progress_bar, report_document
from s3_agent_memory.edge.cli.streams import (
    STANDARD_STREAM,
    bounded_lines,
    flush_output,
    opened_input,
    print_error,
    write_lines,
    write_output,
)
from s3_agent_memory.edge.documents import events_document
from s3_agent_memory.errors import CorruptError, ValidationError
from s3_agent_memory.service.results import ImportReport

_NO_CHECKSUM: Final = "note: the file ends without a checksum line; if `export -o` wrote it, its end is missing"


def run_export(arguments: argparse.Namespace, settings: Settings) -> Answer:
    """Write memories as JSON lines."""
    corrupt_keys: list[str] = []
    with progress_bar("export") as progress:
        lines = bootstrap.build_cli_store(settings).export(
            settings.namespace,
            kind=arguments.kind,
            tags=arguments.tags or (),
            filter=_export_filter(arguments),
            include_expired=arguments.include_expired,
            progress=progress,
            on_corrupt=corrupt_keys.append,
        )
        write_lines(with_checksum(lines) if _wants_checksum(arguments) else lines, arguments.output)
    for key in corrupt_keys:
        print_error(f"error: {key} cannot be read and is left out [{CorruptError.code}]")
    return Answer(None, exit_code_of(CorruptError.code) if corrupt_keys else EXIT_OK)


def _wants_checksum(arguments: argparse.Namespace) -> bool:
    if arguments.checksum is None:
        return arguments.output not in (None, STANDARD_STREAM)
    return bool(arguments.checksum)


def _export_filter(arguments: argparse.Namespace) -> Any:
    """Return the filter with what the options for identity add; a filter that is no object is refused later."""
    given = {name: value for name in IDENTITY_FIELDS if (value := getattr(arguments, name)) is not None}
    chosen = arguments.filter
    if chosen is None or not given:
        return given or chosen
    if not isinstance(chosen, dict):
        return chosen
    both = sorted(given.keys() & chosen.keys())
    if both:
        raise ValidationError(f"{both[0]} is both an option and in the filter; choose one")
    return chosen | given


def run_import(arguments: argparse.Namespace, settings: Settings) -> Answer:
    """Read memories as JSON lines."""
    store = bootstrap.build_cli_store(settings)
    with opened_input(arguments.file) as file, progress_bar("import") as progress:
        report = store.import_(
            settings.namespace,
            bounded_lines(file, line_bytes_max=store.limits.line_bytes_max),
            overwrite=arguments.overwrite,
            resurrect=arguments.resurrect,
            progress=progress,
        )
    if report.checksum == Checked.ABSENT and arguments.file != STANDARD_STREAM:
        print_error(_NO_CHECKSUM)
    return _report_answer(report)


def run_migrate(arguments: argparse.Namespace, settings: Settings) -> Answer:
    """Read another system's file."""
    with opened_input(arguments.file) as file, progress_bar("migrate") as progress:
        report = bootstrap.build_cli_store(settings).migrate(
            settings.namespace, arguments.form, file, dry_run=arguments.dry_run, progress=progress
        )
    return _report_answer(report, dry_run=arguments.dry_run)


def _report_answer(report: ImportReport, **more: object) -> Answer:
    # The codes are those of the first refused lines; a storage that failed weighs more than a line that is wrong.
    refused = max((exit_code_of(line.code) for line in report.errors), default=EXIT_VALIDATION)
    document = {**report_document(report), **more}
    return Answer(document, max(refused, EXIT_VALIDATION) if report.failed else EXIT_OK)


def run_events(arguments: argparse.Namespace, settings: Settings) -> Answer:
    """Show what changed."""
    store = bootstrap.build_cli_store(settings)
    if not arguments.follow:
        return Answer(
            events_document(store.events(settings.namespace, arguments.cursor or None, limit=arguments.limit))
        )
    clock = SystemClock()
    for page in follow(
        store,
        settings.namespace,
        arguments.cursor,
        limit=arguments.limit,
        wait=lambda: clock.sleep(arguments.interval),
    ):
        write_output(encode_json(events_document(page)).decode() + "\n")
        flush_output()
    return Answer(None)


def follow(
    store: MemoryStore, namespace: str, cursor: str | None, *, limit: int, wait: Callable[[], object]
) -> Iterator[EventPage]:
    """Yield pages with events as they happen, without an end.

    Args:
        wait: called when there is nothing more for now.
    """
    while True:
        page = store.events(namespace, cursor, limit=limit)
        cursor = page.cursor
        if page.events:
            yield page
        if not page.has_more:
            wait()
