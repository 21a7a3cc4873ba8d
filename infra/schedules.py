"""Schedules: functions that walk all namespaces now and then, and what becomes of a run that fails."""

from typing import Final

from aws_cdk import Aws, Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda_destinations as destinations
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as targets
from constructs import Construct

from infra.acknowledgements import acknowledge_wildcards, logical_id_of
from infra.functions import MemoryFunction
from infra.pipeline import make_dead_letter_queue

# A run that is missed is made up for by the next one, so nobody insists.
_RETRY_COUNT: Final = 2
_EVENT_AGE_MAX: Final = Duration.hours(1)


class RoundSchedules(Construct):
    """Schedules, with one dead-letter queue for all of them.

    Attributes:
        dead_letters: runs that could not be begun, or that failed at every attempt.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        self.dead_letters = make_dead_letter_queue(self, "DeadLetters")

    def add(self, function: MemoryFunction, *, rate: str) -> None:
        """Call the function at a rate, or at the times of a cron expression in UTC."""
        name = function.spec.construct_id
        scheduler.Schedule(
            self,
            name,
            description=f"s3-agent-memory: {function.spec.name}",
            schedule=scheduler.ScheduleExpression.expression(rate),
            target=targets.LambdaInvoke(
                function.function,
                role=self._make_role(function),
                dead_letter_queue=self.dead_letters,
                retry_attempts=_RETRY_COUNT,
                max_event_age=_EVENT_AGE_MAX,
            ),
        )
        function.function.configure_async_invoke(
            on_failure=destinations.SqsDestination(self.dead_letters),
            retry_attempts=_RETRY_COUNT,
            max_event_age=_EVENT_AGE_MAX,
        )

    def _make_role(self, function: MemoryFunction) -> iam.Role:
        role = iam.Role(
            self,
            f"{function.spec.construct_id}Role",
            description=f"What the schedule of {function.spec.name} may do",
            assumed_by=iam.ServicePrincipal(
                "scheduler.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
            ),
        )
        acknowledge_wildcards(
            role,
            [f"<{logical_id_of(function.function)}.Arn>:*"],
            reason="These are the versions of one function.",
        )
        return role
