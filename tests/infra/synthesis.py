"""The synthesised stack as plain JSON, and ways to look into it."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from aws_cdk import App
from cdk_nag import AwsSolutionsChecks, ServerlessChecks

from infra.function_table import FUNCTION_NAMES
from infra.layer_build import ROOT, Target
from infra.settings import Settings
from infra.stack import AgentMemoryStack

Resource = Mapping[str, Any]
_FLAGS = json.loads((ROOT / "cdk.json").read_text("utf-8"))["context"]


def empty_layer(name: str, _target: Target) -> Path:
    """Return a folder in place of a layer, for templates whose content does not matter."""
    folder = Path(tempfile.gettempdir(), "s3-agent-memory-empty-layer", name)
    (folder / "python").mkdir(parents=True, exist_ok=True)
    (folder / "python" / "empty.txt").write_text(name, "utf-8")
    return folder


def read_settings(**context: Any) -> Settings:
    """Return the settings of a context."""
    return Settings.from_context(context, function_names=FUNCTION_NAMES)


def make_app(output: Path, **context: Any) -> tuple[App, AgentMemoryStack]:
    """Return the app and its stack, not synthesised yet."""
    app = App(outdir=str(output), context={**_FLAGS, **context}, analytics_reporting=False)
    return app, AgentMemoryStack(app, read_settings(**app.node.get_all_context()), build=empty_layer)


class Template:
    """A CloudFormation template."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.body = body

    @property
    def outputs(self) -> Mapping[str, Any]:
        outputs: Mapping[str, Any] = self.body["Outputs"]
        return outputs

    def all(self, kind: str) -> dict[str, Resource]:
        """Return the resources of one type by logical id."""
        return {name: found for name, found in self.body["Resources"].items() if found["Type"] == kind}

    def one(self, kind: str, *, starts: str = "") -> Resource:
        """Return the properties of the only resource of a type whose logical id starts like that."""
        (found,) = [found for name, found in self.all(kind).items() if name.startswith(starts)]
        properties: Resource = found["Properties"]
        return properties

    def function(self, name: str) -> Resource:
        """Return the properties of a function of ours by the name of its folder."""
        functions = [item["Properties"] for item in self.all("AWS::Lambda::Function").values()]
        (found,) = [item for item in functions if item["Description"] == f"s3-agent-memory: {name}"]
        return found

    def role_statements(self, name: str) -> list[Resource]:
        """Return the statements of the role of a function."""
        role_id = self.function(name)["Role"]["Fn::GetAtt"][0]
        policies = [item["Properties"] for item in self.all("AWS::IAM::Policy").values()]
        return [
            statement
            for policy in policies
            if {"Ref": role_id} in policy["Roles"]
            for statement in policy["PolicyDocument"]["Statement"]
        ]

    def logical_ids(self, value: Any) -> Iterator[str]:
        """Yield what a value refers to."""
        if isinstance(value, Mapping):
            if "Ref" in value:
                yield value["Ref"]
            if "Fn::GetAtt" in value:
                yield value["Fn::GetAtt"][0]
            for part in value.values():
                yield from self.logical_ids(part)
        elif isinstance(value, list):
            for part in value:
                yield from self.logical_ids(part)


@cache
def synthesise(**context: str) -> Template:
    """Return the template of the stack with these settings; the same settings are synthesised once."""
    with tempfile.TemporaryDirectory() as output:
        app, stack = make_app(Path(output), **context)
        return Template(app.synth().get_stack_by_name(stack.stack_name).template)


def text_of(value: Any) -> str:
    """Return a value with references written as ``<LogicalId>``, so that it can be compared."""
    if isinstance(value, str):
        return value
    if "Ref" in value:
        return f"<{value['Ref']}>"
    if "Fn::GetAtt" in value:
        return f"<{value['Fn::GetAtt'][0]}>"
    separator, parts = value["Fn::Join"]
    joined: str = separator.join(text_of(part) for part in parts)
    return joined


def findings(output: Path, app: App) -> list[str]:
    """Synthesise with both rule packs and return what they find: rule and construct."""
    from aws_cdk import Validations

    Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
    app.synth()
    report = json.loads((output / "validation-report.json").read_text("utf-8"))
    return [
        f"{violation['ruleName']} at {occurrence.get('constructPath')}"
        for plugin in report["pluginReports"]
        for violation in plugin["violations"]
        for occurrence in violation["violatingConstructs"]
    ]
