"""The examples work as they stand."""

import json
import re
import subprocess
import sys

import pytest

from s3_agent_memory.edge.cli.main import build_parser
from tests.architecture.project import ROOT
from tests.functions.stack_process import usual_environment

CONFIGS = ROOT / "examples" / "mcp_config"
TIMEOUT_SECONDS = 120


def servers():
    for path in sorted(CONFIGS.glob("*.json")):
        document = json.loads(path.read_text())
        for name, server in document.get("mcpServers", document.get("servers")).items():
            yield pytest.param(server, id=f"{path.stem}-{name}")


@pytest.mark.parametrize("server", list(servers()))
def test_a_configuration_starts_a_server_that_exists(server):
    if "url" in server:
        assert server["url"].endswith("/mcp")
        assert server["headers"]["Authorization"].startswith("Bearer ${")
    else:
        assert server["command"].endswith("/s3-agent-memory")
        assert "://" in server["env"]["S3_AGENT_MEMORY_URL"]
        assert build_parser().parse_args(server["args"]).command == "serve"


@pytest.mark.parametrize("document", [ROOT / "docs" / "MCP.md", CONFIGS / "claude_code.sh"])
def test_every_printed_command_line_is_one(document):
    found = re.findall(r'claude mcp add [^\n]*-- "?[^\s"]*s3-agent-memory"? (serve[^\n`;]*)', document.read_text())
    assert found
    for arguments in found:
        assert build_parser().parse_args(arguments.split()).command == "serve"


def test_the_agent_knows_in_the_next_conversation_what_it_was_told(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "mcp_agent.py")],
        cwd=tmp_path,
        env=usual_environment() | {"S3_AGENT_MEMORY_URL": f"file://{tmp_path}/store"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    last = done.stdout.splitlines()[-1]
    assert last.startswith("agent: I know this about you:")
    assert {"vegetarian", "allergic to nuts"} <= set(re.findall("vegetarian|allergic to nuts", last))
