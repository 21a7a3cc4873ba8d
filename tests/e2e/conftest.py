"""What the suite shares: one emulator, one deployed stack, and ways to use it. ``make e2e`` runs it.

Tests share the stack, so each works in namespaces of its own. A test of a function that is added later needs a context
value in ``deployment.CONTEXT``, if it has a schedule or a queue, and a module of its own here.
"""

import os
import shlex
from collections.abc import Generator, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from tests.e2e import deployment as deploying
from tests.e2e.account import Account, Bucket
from tests.e2e.api import Caller, CommandLine, NewCaller
from tests.e2e.deployment import Deployment
from tests.e2e.emulator import Emulator, Tools, log_tail, running_emulator

PYTHON_VARIABLE = "E2E_EMULATOR_PYTHON"
CDK_VARIABLE = "E2E_CDK"
_account = pytest.StashKey[Account]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the test that destroys the stack after all others."""
    items.sort(key=lambda item: item.path.name == "test_destroy.py")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to the report of a failure what emulator and functions logged last."""
    report = yield
    if report.failed:
        report.sections.append(("emulator log", log_tail()))
        account = item.config.stash.get(_account, None)
        # An emulator that has died has no logs of functions.
        with suppress(BotoCoreError, ClientError):
            report.sections.extend(account.function_logs() if account else ())
    return report


@pytest.fixture(scope="session")
def emulator() -> Iterator[Emulator]:
    """The emulator, running."""
    missing = {PYTHON_VARIABLE, CDK_VARIABLE} - os.environ.keys()
    if missing:
        pytest.fail(f"'make e2e' sets up what this suite needs and says where it is in {', '.join(sorted(missing))}")
    # The command may begin with variables, as in a shell.
    cdk = ("env", *shlex.split(os.environ[CDK_VARIABLE]))
    with running_emulator(Tools(Path(os.environ[PYTHON_VARIABLE]).absolute(), cdk)) as running:
        yield running


@pytest.fixture(scope="session")
def account(emulator: Emulator, request: pytest.FixtureRequest) -> Account:
    """The emulated account, bootstrapped."""
    deploying.bootstrap(emulator)
    request.config.stash[_account] = found = Account(emulator)
    return found


@pytest.fixture(scope="session")
def deployment(emulator: Emulator, account: Account) -> Deployment:
    """The deployed stack."""
    return deploying.deploy(emulator)


@pytest.fixture(scope="session")
def bucket(account: Account, deployment: Deployment) -> Bucket:
    """The bucket of the stack."""
    return Bucket(account, deployment.outputs["BucketName"])


@pytest.fixture(scope="session")
def command_line(account: Account, bucket: Bucket) -> CommandLine:
    """The command line on the deployed bucket."""
    return CommandLine(account, bucket.name)


@pytest.fixture(scope="session")
def new_caller(emulator: Emulator, deployment: Deployment, command_line: CommandLine) -> Iterator[NewCaller]:
    """Make callers: with a token of the command line for a namespace (and more options), or with the token given."""
    callers: list[Caller] = []
    numbers = count(1)

    def make(namespace: str | None = None, *options: str, token: str | None = None) -> Caller:
        if namespace is not None:
            principal = f"caller-{next(numbers)}"
            token = command_line("-n", namespace, "token", "create", "--principal", principal, *options)["token"]
        caller = Caller(emulator, deployment.api_url, token)
        callers.append(caller)
        return caller

    yield make
    for caller in callers:
        caller.close()
