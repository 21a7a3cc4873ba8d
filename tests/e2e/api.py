"""The deployed API as its users reach it: tokens from the command line, requests over HTTP."""

import json
import sys
from collections.abc import Callable
from typing import Any

import httpx

from tests.e2e.account import Account
from tests.e2e.emulator import Emulator
from tests.e2e.processes import run

_REQUEST_SECONDS = 60
_COMMAND_SECONDS = 60
_PROGRAM = (sys.executable, "-c", "import sys; from s3_agent_memory.edge.cli.main import main; sys.exit(main())")


class CommandLine:
    """The command line, pointed at the deployed bucket."""

    def __init__(self, account: Account, bucket_name: str) -> None:
        self._account = account
        self._url = f"s3://{bucket_name}"

    def __call__(self, *arguments: str) -> Any:
        """Run a command and return the document it answers with."""
        command = [*_PROGRAM, "--url", self._url, *arguments]
        return json.loads(run(command, self._account.environment(), seconds=_COMMAND_SECONDS))


class Caller:
    """Sends requests to the API with one token, or with none."""

    def __init__(self, emulator: Emulator, api_url: str, token: str | None) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._client = httpx.Client(
            base_url=api_url, headers=headers, verify=emulator.trust(), timeout=_REQUEST_SECONDS, trust_env=False
        )

    def send(self, method: str, path: str, body: Any = None, **options: Any) -> httpx.Response:
        """Send a request; a body that is given is sent as JSON."""
        return self._client.request(method, path.lstrip("/"), json=body, **options)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request that must succeed, and return the document it is answered with."""
        answer = self.send(method, path, body)
        assert answer.is_success, f"{method} {path} was answered {answer.status_code}: {answer.text}"
        return answer.json()

    def remember(self, content: str, **fields: Any) -> str:
        """Store a memory and return its id."""
        memory_id: str = self.ask("POST", "/v1/memories", {"content": content, **fields})["memory"]["id"]
        return memory_id

    def found_ids(self, query: str, **fields: Any) -> list[str]:
        """Search and return the ids of the hits, best first."""
        hits = self.ask("POST", "/v1/memories/search", {"query": query, **fields})["hits"]
        return [hit["memory"]["id"] for hit in hits]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


NewCaller = Callable[..., Caller]
