"""Storage: the bucket that holds all memories, its policy and its lifecycle."""

from typing import Final, cast

from aws_cdk import Aws, Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra import permissions
from infra.acknowledgements import acknowledge
from infra.settings import Settings

_ABORT_DAYS: Final = 1
_TEMPORARY_PREFIX: Final = "tmp/"
_TEMPORARY_DAYS: Final = 1


class MemoryBucket(Construct):
    """The bucket; the stack can go while it stays.

    Attributes:
        bucket: the bucket itself.
    """

    def __init__(self, scope: Construct, id: str, *, settings: Settings) -> None:
        super().__init__(scope, id)
        is_kept = settings.removal_policy == "retain"
        key = kms.Key.from_key_arn(self, "Key", settings.kms_key_arn) if settings.kms_key_arn else None
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            bucket_name=settings.bucket_name,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            versioned=True,
            removal_policy=RemovalPolicy.RETAIN if is_kept else RemovalPolicy.DESTROY,
            lifecycle_rules=_lifecycle_rules(settings.noncurrent_days),
            encryption=s3.BucketEncryption.S3_MANAGED if key is None else s3.BucketEncryption.KMS,
            encryption_key=key,
            # One request to the key service for many objects, instead of one for each.
            bucket_key_enabled=None if key is None else True,
        )
        self.bucket.add_to_resource_policy(self._deny_blind_writes())
        self._queues: list[s3.CfnBucket.QueueConfigurationProperty] = []
        acknowledge(
            self.bucket,
            "AwsSolutions-S1",
            reason="Server access logs would cost an object for every few requests and hold the keys of all tenants. "
            "The API logs its requests; who must audit the bucket as well turns on data events of CloudTrail.",
        )

    def _deny_blind_writes(self) -> iam.PolicyStatement:
        """Return the statement that makes a write without condition a 403, whoever sends it.

        Parts of a multipart upload carry no condition, only its completion does; hence ``ObjectCreationOperation``.
        """
        return iam.PolicyStatement(
            sid="DenyBlindWrites",
            effect=iam.Effect.DENY,
            principals=[iam.AnyPrincipal()],
            actions=["s3:PutObject"],
            resources=[self.bucket.arn_for_objects(pattern) for pattern in permissions.CONDITIONAL_ONLY],
            conditions={
                "Null": {"s3:if-match": "true", "s3:if-none-match": "true"},
                "Bool": {"s3:ObjectCreationOperation": "true"},
            },
        )

    def notify(self, queue: sqs.Queue, *, prefix: str, suffix: str) -> None:
        """Send an event to the queue whenever an object whose key begins and ends like that is written.

        The queue must know the bucket only by its account: the bucket needs the queue's permission before it exists.
        """
        queue.add_to_resource_policy(
            iam.PolicyStatement(
                sid="ReceiveBucketEvents",
                principals=[iam.ServicePrincipal("s3.amazonaws.com")],
                actions=["sqs:SendMessage"],
                resources=[queue.queue_arn],
                conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}},
            )
        )
        rules = [
            s3.CfnBucket.FilterRuleProperty(name="prefix", value=prefix),
            s3.CfnBucket.FilterRuleProperty(name="suffix", value=suffix),
        ]
        self._queues.append(
            s3.CfnBucket.QueueConfigurationProperty(
                event="s3:ObjectCreated:*",
                queue=queue.queue_arn,
                filter=s3.CfnBucket.NotificationFilterProperty(s3_key=s3.CfnBucket.S3KeyFilterProperty(rules=rules)),
            )
        )
        resource = cast("s3.CfnBucket", self.bucket.node.default_child)
        resource.notification_configuration = s3.CfnBucket.NotificationConfigurationProperty(
            queue_configurations=self._queues
        )
        # S3 tries the queue when it is told of it, so it must be allowed to by then.
        resource.node.add_dependency(queue.node.find_child("Policy"))


def _lifecycle_rules(noncurrent_days: int) -> list[s3.LifecycleRule]:
    return [
        s3.LifecycleRule(
            id="ForgetForGood",
            noncurrent_version_expiration=Duration.days(noncurrent_days),
            expired_object_delete_marker=True,
        ),
        s3.LifecycleRule(id="AbortUploads", abort_incomplete_multipart_upload_after=Duration.days(_ABORT_DAYS)),
        s3.LifecycleRule(id="EmptyTemporary", prefix=_TEMPORARY_PREFIX, expiration=Duration.days(_TEMPORARY_DAYS)),
    ]
