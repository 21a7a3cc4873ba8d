"""Logs: groups that keep what is written to them for as long as the settings say."""

from typing import cast

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs
from constructs import Construct


def make_log_group(scope: Construct, id: str, *, retention_days: int, name: str | None = None) -> logs.LogGroup:
    """Return a new log group, which goes when the stack goes."""
    group = logs.LogGroup(scope, id, log_group_name=name, removal_policy=RemovalPolicy.DESTROY)
    cast("logs.CfnLogGroup", group.node.default_child).retention_in_days = retention_days
    return group
