"""Layers: the library and the packages of others, as Lambda knows them."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from aws_cdk import RemovalPolicy
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.functions import make_architecture, make_runtime
from infra.layer_build import Target
from infra.settings import Settings

LayerBuilder = Callable[[str, Target], Path]


def make_layers(
    scope: Construct, layer_names: Iterable[str], *, settings: Settings, build: LayerBuilder
) -> Mapping[str, lambda_.LayerVersion]:
    """Return the layers of these names, each made of the folder that ``build`` returns for it."""
    target = Target(settings.architecture, settings.python_version)
    return {
        name: lambda_.LayerVersion(
            scope,
            f"{name.capitalize()}Layer",
            description=f"s3-agent-memory: {name}",
            code=lambda_.Code.from_asset(str(build(name, target))),
            compatible_runtimes=[make_runtime(settings)],
            compatible_architectures=[make_architecture(settings)],
            removal_policy=RemovalPolicy.DESTROY,
        )
        for name in sorted(set(layer_names))
    }
