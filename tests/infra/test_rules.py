"""Rules of others: both packs of cdk-nag, and cfn-lint. Each finding that stays is acknowledged with its reason."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from aws_cdk import aws_s3 as s3

from infra import acknowledgements
from tests.infra.synthesis import findings, make_app, synthesise

# The CDK writes dependencies that a reference implies anyway.
_IGNORED = "W3005"


def test_the_rule_packs_find_nothing(tmp_path: Path) -> None:
    app, _ = make_app(tmp_path)
    assert findings(tmp_path, app) == []


def test_the_rule_packs_find_nothing_with_every_option(tmp_path: Path) -> None:
    app, _ = make_app(
        tmp_path,
        alarmEmail="ops@example.org",
        kmsKeyArn="arn:aws:kms:eu-central-1:123456789012:key/12345678-1234-1234-1234-123456789012",
        domainName="memory.example.org",
        certificateArn="arn:aws:acm:eu-central-1:123456789012:certificate/12345678-1234-1234-1234-123456789012",
        reservedConcurrency="http_api=50",
        cognito="true",
    )
    assert findings(tmp_path, app) == []


def test_the_rule_packs_are_awake(tmp_path: Path) -> None:
    app, stack = make_app(tmp_path)
    s3.CfnBucket(stack, "Careless")
    with pytest.raises(RuntimeError, match="AwsSolutions-S10"):
        findings(tmp_path, app)


def test_every_acknowledgement_gives_a_reason() -> None:
    folder = Path(acknowledgements.__file__).parent
    calls = sum(path.read_text("utf-8").count("acknowledge(\n") for path in folder.glob("*.py"))
    reasons = sum(path.read_text("utf-8").count("reason=") for path in folder.glob("*.py"))
    assert calls
    assert reasons >= calls


@pytest.mark.parametrize("context", [{}, {"cognito": "true"}, {"embeddings": "none"}], ids=str)
def test_the_template_is_valid(context: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "stack.template.json"
    path.write_text(json.dumps(synthesise(**context).body), "utf-8")
    command = [
        str(Path(sys.executable).with_name("cfn-lint")),
        "--regions",
        "eu-central-1",
        "--ignore-checks",
        _IGNORED,
    ]
    done = subprocess.run([*command, "--", str(path)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
