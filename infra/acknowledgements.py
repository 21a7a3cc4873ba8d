"""Acknowledgements: findings of the rule packs that are as they should be, each with its reason on its resource."""

from collections.abc import Iterable
from typing import cast

from aws_cdk import Acknowledgment, CfnElement, Resource, Stack, Validations
from constructs import Construct


def acknowledge(construct: Construct, *rule_ids: str, reason: str) -> None:
    """Acknowledge rules on one construct."""
    Validations.of(construct).acknowledge(*(Acknowledgment(id=rule_id, reason=reason) for rule_id in rule_ids))


def acknowledge_wildcards(construct: Construct, resources: Iterable[str], *, reason: str) -> None:
    """Acknowledge resources with wildcards in the policy of one construct, as the rule writes them."""
    acknowledge(construct, *(f"AwsSolutions-IAM5[Resource::{resource}]" for resource in resources), reason=reason)


def logical_id_of(resource: Resource) -> str:
    """Return the name of a resource in the template, by which findings speak of it."""
    stack = Stack.of(resource)
    logical_id: str = stack.resolve(stack.get_logical_id(cast("CfnElement", resource.node.default_child)))
    return logical_id
