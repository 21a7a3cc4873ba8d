"""Runs MCP clients of other projects against the local stack, each through the whole life of a memory.

``python -m tests.mcp.clients --python PYTHON --node FOLDER``: an interpreter with the Python clients, and a folder in
which the Node programs are installed. ``make mcp-clients`` prepares both.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.functions.stack_process import Stack

HERE = Path(__file__).parent
TIMEOUT_SECONDS = 120
PYTHON_CLIENTS = ("langchain_cycle", "strands_cycle", "pydantic_ai_cycle")


class Inspector:
    """The MCP inspector in its command-line mode."""

    def __init__(self, node: Path, stack: Stack) -> None:
        modules = node / "node_modules"
        self._command = [str(modules / ".bin/node"), str(modules / ".bin/mcp-inspector"), "--cli", stack.url + "/mcp"]
        self._command += ["--transport", "http", "--header", f"Authorization: Bearer {stack.token}"]

    def run(self, *arguments: str) -> dict:
        ran = run([*self._command, *arguments])
        return json.loads(ran.stdout[ran.stdout.index("{") :])

    def call(self, tool: str, **arguments: str) -> dict:
        pairs = [f"{name}={value}" for name, value in arguments.items()]
        answer = self.run("--method", "tools/call", "--tool-name", tool, *(["--tool-arg", *pairs] if pairs else []))
        result = answer.get("result", answer)
        assert not result.get("isError"), result
        return result["structuredContent"]


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    ran = subprocess.run(
        command,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, f"{command[0]} exited with {ran.returncode}\n{ran.stdout[-3000:]}\n{ran.stderr[-3000:]}"
    return ran


def inspect(inspector: Inspector) -> None:
    """Go through the life of a memory; ``--strict`` also fails for a schema that some client could not use."""
    inspector.run("--method", "tools/list", "--strict")
    stored = inspector.call("remember", content="Dave lives in Oslo", tags='["inspector"]')
    (hit,) = inspector.call("recall", query="Oslo", tags='["inspector"]')["memories"]
    assert hit["id"] == stored["id"]
    assert inspector.call("update", id=stored["id"], content="Dave lives in Bergen")["version"] == 2
    (hit,) = inspector.call("recall", query="Bergen")["memories"]
    assert hit["content"] == "Dave lives in Bergen"
    assert inspector.call("forget", id=stored["id"])["forgotten"] is True
    assert inspector.call("recall", query="Bergen")["memories"] == []
    inspector.run("--method", "resources/read", "--uri", "memory://statistics")
    inspector.run("--method", "prompts/get", "--prompt-name", "use_memory_well")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--node", type=Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stack = Stack(Path(folder))
        try:
            for name in PYTHON_CLIENTS:
                script = str(HERE / f"{name}.py")
                run([str(options.python), script], MCP_URL=stack.url + "/mcp", MCP_TOKEN=stack.token)
                print(f"ok  {name}")
            inspect(Inspector(options.node, stack))
            print("ok  inspector")
        finally:
            stack.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
