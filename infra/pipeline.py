"""The pipeline: from objects that changed, by way of a queue, to the function that looks at them."""

from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_lambda_event_sources as event_sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.acknowledgements import acknowledge
from infra.functions import MemoryFunction
from infra.queue_settings import QueueSettings
from infra.storage import MemoryBucket

# A batch is full at this or when its window ends; a message is about 1 KB, and Lambda takes 6 MB.
BATCH_SIZE: Final = 1_000
_DEAD_LETTER_DAYS: Final = 14


class ObjectPipeline(Construct):
    """A queue of changed objects, the function that works on it, and the queue of what it could not work on.

    Args:
        settings: how the function works through the queue.
        prefix, suffix: of the keys; what the function writes must not match, else it calls itself for ever.

    Attributes:
        function_id: name of the function, as a construct.
        queue: of changes.
        dead_letters: of messages that failed too often.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        settings: QueueSettings,
        storage: MemoryBucket,
        function: MemoryFunction,
        prefix: str,
        suffix: str,
    ) -> None:
        super().__init__(scope, id)
        self.function_id = function.spec.construct_id
        self.dead_letters = make_dead_letter_queue(self, "DeadLetters")
        self.queue = sqs.Queue(
            self,
            "Queue",
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.days(_DEAD_LETTER_DAYS),
            visibility_timeout=Duration.seconds(settings.visibility_seconds),
            dead_letter_queue=sqs.DeadLetterQueue(
                queue=self.dead_letters, max_receive_count=settings.receive_count_max
            ),
        )
        storage.notify(self.queue, prefix=prefix, suffix=suffix)
        function.function.add_event_source(
            event_sources.SqsEventSource(
                self.queue,
                batch_size=BATCH_SIZE,
                max_batching_window=Duration.seconds(settings.batch_window_seconds),
                max_concurrency=settings.maximum_concurrency or None,
                report_batch_item_failures=True,
            )
        )
        acknowledge(
            function.function,
            "Serverless-LambdaEventSourceMappingDestination",
            reason="For a queue there is none: what fails goes to the dead-letter queue of the queue.",
        )


def make_dead_letter_queue(scope: Construct, id: str) -> sqs.Queue:
    """Return a queue that keeps what failed for as long as SQS can."""
    queue = sqs.Queue(
        scope,
        id,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        retention_period=Duration.days(_DEAD_LETTER_DAYS),
    )
    acknowledge(
        queue, "AwsSolutions-SQS3", "Serverless-SQSRedrivePolicy", reason="This is the dead-letter queue of others."
    )
    return queue
