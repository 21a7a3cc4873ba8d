"""Runs the official conformance suite against the local stack: ``python -m tests.mcp.conformance --node FOLDER``.

The suite was written for a server that has its diagnostic tools, resources and prompts. A memory has none of them, so
what needs one cannot pass here. Each such scenario is named below with its reason. All others must pass, and one that
is named and passes is an error too, so the list cannot be longer than it must.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.functions.stack_process import Stack
from tests.mcp.bearer_proxy import BearerProxy

TIMEOUT_SECONDS = 600
VERSIONS = ("2025-06-18", "2025-11-25", "2026-07-28")

_TOOL = "calls a diagnostic tool of the suite"
_RESOURCE = "reads a diagnostic resource of the suite"
_PROMPT = "gets a diagnostic prompt of the suite"
_CLIENT = "needs a server that asks its client for something; a memory never does"
NOT_APPLICABLE = {
    "logging-set-level": "sends no log messages to clients, so the capability is not declared",
    "completion-complete": "has no arguments to complete, so the capability is not declared",
    "resources-subscribe": "keeps no connection on which changes could be reported, so it is not declared",
    "resources-unsubscribe": "keeps no connection on which changes could be reported, so it is not declared",
    "tools-call-simple-text": _TOOL,
    "tools-call-image": _TOOL,
    "tools-call-audio": _TOOL,
    "tools-call-embedded-resource": _TOOL,
    "tools-call-mixed-content": _TOOL,
    "tools-call-with-logging": _TOOL,
    "tools-call-error": _TOOL,
    "tools-call-with-progress": _TOOL,
    "tools-call-sampling": _CLIENT,
    "tools-call-elicitation": _CLIENT,
    "json-schema-2020-12": _TOOL,
    "http-custom-header-server-validation": "needs a tool whose arguments travel as headers",
    "elicitation-sep1034-defaults": _CLIENT,
    "elicitation-sep1330-enums": _CLIENT,
    "resources-read-text": _RESOURCE,
    "resources-read-binary": _RESOURCE,
    "resources-templates-read": _RESOURCE,
    "prompts-get-simple": _PROMPT,
    "prompts-get-with-args": _PROMPT,
    "prompts-get-embedded-resource": _PROMPT,
    "prompts-get-with-image": _PROMPT,
    "input-required-result-basic-elicitation": _CLIENT,
    "input-required-result-basic-sampling": _CLIENT,
    "input-required-result-basic-list-roots": _CLIENT,
    "input-required-result-request-state": _CLIENT,
    "input-required-result-multiple-input-requests": _CLIENT,
    "input-required-result-multi-round": _CLIENT,
    "input-required-result-non-tool-request": _CLIENT,
    "input-required-result-result-type": _CLIENT,
    "input-required-result-tampered-state": _CLIENT,
    "input-required-result-capability-check": _CLIENT,
}
# Checks of a scenario whose other checks apply.
NOT_APPLICABLE_CHECKS = {
    ("server-stateless", "sep-2575-server-rejects-undeclared-capability"): _CLIENT,
    ("server-stateless", "sep-2575-missing-capability-http-400"): _CLIENT,
    ("server-stateless", "sep-2575-http-server-no-independent-requests-on-stream"): _CLIENT,
    ("server-stateless", "sep-2575-server-no-log-without-loglevel"): _TOOL,
}


def run_suite(node: Path, url: str, version: str) -> dict[str, list[dict]]:
    """Return the checks of every scenario of a revision."""
    modules = node / "node_modules"
    with tempfile.TemporaryDirectory() as folder:
        command = [
            str(modules / ".bin/node"),
            str(modules / "@modelcontextprotocol/conformance/dist/index.js"),
            "server",
        ]
        command += ["--url", url, "--suite", "all", "--spec-version", version, "--output-dir", folder]
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_SECONDS, check=False)
        return {_scenario_of(path): json.loads(path.read_text()) for path in Path(folder).rglob("checks.json")}


def _scenario_of(path: Path) -> str:
    return path.parent.name.removeprefix("server-").rsplit("-", 6)[0]


def complaints(results: dict[str, list[dict]]) -> Iterator[str]:
    """Yield what is not as it must be."""
    if len(results) < 20:
        yield f"only {len(results)} scenarios ran"
    for scenario, checks in sorted(results.items()):
        failed = {check["id"] for check in checks if check["status"] == "FAILURE"}
        excused = {check for name, check in NOT_APPLICABLE_CHECKS if name == scenario}
        if scenario in NOT_APPLICABLE:
            if not failed:
                yield f"{scenario} passes: take it off the list"
        elif failed - excused:
            yield f"{scenario} fails: {', '.join(sorted(failed - excused))}"
        elif excused - failed:
            yield f"{scenario} passes {', '.join(sorted(excused - failed))}: take it off the list"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--node", type=Path, required=True, help="folder in which the suite and Node are installed")
    options = parser.parse_args()
    found: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        stack = Stack(Path(folder))
        try:
            with BearerProxy(stack.url, stack.token) as proxy:
                for version in VERSIONS:
                    results = run_suite(options.node, proxy.url + "/mcp", version)
                    applicable = [name for name in results if name not in NOT_APPLICABLE]
                    listed = " ".join(sorted(applicable))
                    print(f"{version}: {len(applicable)} of {len(results)} scenarios apply: {listed}")
                    found += [f"{version}: {complaint}" for complaint in complaints(results)]
        finally:
            stack.stop()
    print("\n".join(found) or "every scenario that applies passes")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
