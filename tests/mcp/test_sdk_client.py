"""The SDK's own client, in both eras, over HTTP against the local stack and over standard streams."""

import signal
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientMetadata
from mcp.shared.exceptions import MCPError
from pydantic import AnyUrl

from tests.functions.stack_process import Stack, usual_environment
from tests.mcp.callers import ERAS, ask_client
from tests.mcp.identity_provider import CLIENT_ID, IdentityProvider

TIMEOUT_SECONDS = 60
COMMAND = ["-c", "import sys; from s3_agent_memory.edge.cli.main import main; sys.exit(main())", "serve"]
CALLBACK = "http://127.0.0.1:1/callback"


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    stack = Stack(tmp_path_factory.mktemp("stack"))
    yield stack
    stack.stop()


@asynccontextmanager
async def http_client(url, era, **options):
    transport = create_mcp_http_client(**options)
    async with transport, Client(streamable_http_client(url + "/mcp", http_client=transport), mode=era) as client:
        yield client


def stdio(folder, era, *options):
    environment = usual_environment() | {"S3_AGENT_MEMORY_URL": f"file://{folder}/store"}
    parameters = StdioServerParameters(command=sys.executable, args=[*COMMAND, *options], env=environment)
    return Client(stdio_client(parameters), mode=era)


@pytest.fixture(params=["http", "stdio"])
def connect(request, stack, tmp_path):
    """Return a function that makes a client of an era."""
    headers = {"Authorization": f"Bearer {stack.token}"}
    over = {
        "http": lambda era: http_client(stack.url, era, headers=headers),
        "stdio": lambda era: stdio(tmp_path, era, "-n", "users/alice"),
    }
    return over[request.param]


async def live(client):
    """Go through the life of a memory and return what was seen."""
    stored = (
        await client.call_tool("remember", {"content": "Alice is vegetarian", "tags": ["sdk"]})
    ).structured_content
    seen = [(await client.call_tool("recall", {"query": "vegetarian", "tags": ["sdk"]})).structured_content]
    await client.call_tool("update", {"id": stored["id"], "content": "Alice is vegan"})
    seen.append((await client.call_tool("recall", {"query": "vegan", "tags": ["sdk"]})).structured_content)
    await client.call_tool("forget", {"id": stored["id"]})
    seen.append((await client.call_tool("recall", {"query": "vegan", "tags": ["sdk"]})).structured_content)
    return [[memory["content"] for memory in answer["memories"]] for answer in seen]


@pytest.mark.parametrize("era", ERAS)
def test_the_life_of_a_memory(connect, era):
    assert ask_client(connect(era), live) == [["Alice is vegetarian"], ["Alice is vegan"], []]


@pytest.mark.parametrize(("era", "version"), list(zip(ERAS, ("2025-11-25", "2026-07-28"), strict=True)))
def test_each_era_is_spoken(connect, era, version):
    async def ask(client):
        return client.protocol_version

    assert ask_client(connect(era), ask) == version


@pytest.mark.parametrize("era", ERAS)
def test_everything_that_is_offered_can_be_listed(connect, era):
    async def ask(client):
        return (
            len((await client.list_tools()).tools),
            len((await client.list_resources()).resources),
            len((await client.list_resource_templates()).resource_templates),
            len((await client.list_prompts()).prompts),
            len((await client.get_prompt("use_memory_well")).messages),
            len((await client.read_resource("memory://statistics")).contents),
        )

    assert ask_client(connect(era), ask) == (6, 1, 1, 1, 1, 1)


@pytest.mark.parametrize("era", ERAS)
def test_an_error_of_the_protocol_reaches_the_client(connect, era):
    async def ask(client):
        return await client.call_tool("nothing", {})

    with pytest.raises(MCPError, match="Unknown tool"):
        ask_client(connect(era), ask)


# Standard streams ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
def test_a_read_only_server_offers_and_does_only_reading(tmp_path, era):
    async def ask(client):
        tools = {tool.name for tool in (await client.list_tools()).tools}
        return tools, await client.call_tool("remember", {"content": "x"})

    tools, refused = ask_client(stdio(tmp_path, era, "-n", "users/alice", "--read-only"), ask)
    assert (tools, refused.is_error) == ({"recall", "list", "get"}, True)
    assert not list((tmp_path / "store").glob("**/*.json"))


def test_two_servers_on_one_store_see_each_only_their_namespace(tmp_path):
    async def remember(client):
        return (await client.call_tool("remember", {"content": "secret of alice"})).structured_content["id"]

    memory_id = ask_client(stdio(tmp_path, "auto", "-n", "users/alice"), remember)

    async def look(client):
        found = (await client.call_tool("recall", {"query": "secret"})).structured_content["memories"]
        return found, (await client.call_tool("get", {"id": memory_id})).is_error

    assert ask_client(stdio(tmp_path, "auto", "-n", "users/bob"), look) == ([], True)


@contextmanager
def serving(folder, *options):
    """Yield a server process; it is gone afterwards."""
    process: Any = subprocess.Popen(
        [sys.executable, *COMMAND, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=usual_environment() | {"S3_AGENT_MEMORY_URL": f"file://{folder}/store"},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


def ping(number):
    return b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % number


def test_nothing_but_protocol_is_on_standard_output(tmp_path):
    with serving(tmp_path) as process:
        process.stdin.write(b'not json\n\n[]\n{"jsonrpc":"2.0"}\n\xff\n' + ping(1))
        process.stdin.flush()
        assert process.stdout.readline() == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
        process.stdin.close()
        assert (process.wait(TIMEOUT_SECONDS), process.stdout.read()) == (0, b"")


def test_the_end_of_input_ends_the_server_in_silence(tmp_path):
    with serving(tmp_path) as process:
        process.stdin.close()
        assert (process.wait(TIMEOUT_SECONDS), process.stdout.read(), process.stderr.read()) == (0, b"", b"")


def test_a_wrong_namespace_ends_the_server_before_it_speaks(tmp_path):
    with serving(tmp_path, "-n", "../x") as process:
        assert (process.wait(TIMEOUT_SECONDS), process.stdout.read()) == (2, b"")


def test_a_client_that_dies_ends_the_server(tmp_path):
    with serving(tmp_path) as process:
        process.stdout.close()
        process.stdin.write(ping(1) + ping(2))
        process.stdin.close()
        assert process.wait(TIMEOUT_SECONDS) == 0
        assert process.stderr.read() == b"nobody reads the answers any more\n"


def test_an_interrupt_ends_the_server_at_once(tmp_path):
    with serving(tmp_path) as process:
        process.stdin.write(ping(1))
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT_SECONDS) == -signal.SIGINT


# Hosted connectors: the whole OAuth flow -----------------------------------------------------------------------------


class Browser:
    """A person at a browser who is logged in at the identity provider, and the client's memory of its tokens."""

    def __init__(self):
        self.tokens: Any = None
        self.client: Any = None
        self._location = ""

    async def open(self, url):
        async with create_mcp_http_client() as http:
            answer = await http.get(url)
        assert answer.status_code == 302, answer.text
        self._location = answer.headers["location"]

    async def come_back(self):
        query = parse_qs(urlsplit(self._location).query)
        return AuthorizationCodeResult(code=query["code"][0], state=query["state"][0])

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


@pytest.fixture
def provider():
    with IdentityProvider() as provider:
        yield provider


@pytest.fixture
def oauth_stack(provider, tmp_path):
    stack = Stack(
        tmp_path,
        S3_AGENT_MEMORY_OIDC_ISSUER=provider.issuer,
        S3_AGENT_MEMORY_OIDC_CLIENT_ID=CLIENT_ID,
        S3_AGENT_MEMORY_OIDC_AUTHORIZATION_URL=provider.issuer + "/authorize",
        S3_AGENT_MEMORY_OIDC_TOKEN_URL=provider.issuer + "/token",
        S3_AGENT_MEMORY_OIDC_REDIRECT_URIS=CALLBACK,
    )
    yield stack
    stack.stop()


def log_in(stack, era, browser):
    metadata = OAuthClientMetadata(redirect_uris=[AnyUrl(CALLBACK)], client_name="test")
    auth = OAuthClientProvider(
        stack.url + "/mcp",
        metadata,
        browser,
        redirect_handler=browser.open,
        callback_handler=browser.come_back,
    )
    return http_client(stack.url, era, auth=auth)


@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_knows_only_the_url_gets_in_by_oauth(oauth_stack, provider, era):
    browser = Browser()
    assert ask_client(log_in(oauth_stack, era, browser), live) == [["Alice is vegetarian"], ["Alice is vegan"], []]
    assert browser.client.client_id == CLIENT_ID
    assert browser.tokens.scope == "memory:read memory:write"


def test_two_people_who_log_in_never_meet(oauth_stack, provider):
    async def remember(client):
        return await client.call_tool("remember", {"content": f"secret of {provider.sub}"})

    async def recall(client):
        found = (await client.call_tool("recall", {"query": "secret"})).structured_content["memories"]
        return [memory["content"] for memory in found]

    for provider.sub in ("auth0|alice", "auth0|bob"):
        ask_client(log_in(oauth_stack, "auto", Browser()), remember)
    assert ask_client(log_in(oauth_stack, "auto", Browser()), recall) == ["secret of auth0|bob"]
