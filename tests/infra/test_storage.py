"""The bucket: private, encrypted, versioned, and there when the stack has gone."""

import pytest

from infra import permissions
from tests.infra.synthesis import Template, synthesise, text_of

BUCKET = "AWS::S3::Bucket"


def test_the_bucket_is_private(template: Template) -> None:
    assert set(template.one(BUCKET)["PublicAccessBlockConfiguration"].values()) == {True}
    assert template.one(BUCKET)["OwnershipControls"]["Rules"] == [{"ObjectOwnership": "BucketOwnerEnforced"}]


def test_the_bucket_is_encrypted_with_keys_of_s3_unless_there_is_another(template: Template) -> None:
    rule = template.one(BUCKET)["BucketEncryption"]["ServerSideEncryptionConfiguration"][0]
    assert rule["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}


def test_a_customer_key_encrypts_the_bucket_and_every_function_may_use_it() -> None:
    key = "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
    template = synthesise(kmsKeyArn=key)
    rule = template.one(BUCKET)["BucketEncryption"]["ServerSideEncryptionConfiguration"][0]
    assert rule["BucketKeyEnabled"] is True
    assert rule["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": key}
    for name in ("http_api", "mcp_endpoint", "indexer", "embedder", "digester", "pruner", "sweeper", "consolidator"):
        assert [set(item["Action"]) for item in template.role_statements(name) if item["Resource"] == key] == [
            {"kms:Decrypt", "kms:GenerateDataKey"}
        ]
    assert [item["Action"] for item in template.role_statements("authorizer") if item["Resource"] == key] == [
        "kms:Decrypt"
    ]


def test_the_bucket_keeps_versions_and_forgets_them_after_a_while(template: Template) -> None:
    bucket = template.one(BUCKET)
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    rules = {rule["Id"]: rule for rule in bucket["LifecycleConfiguration"]["Rules"]}
    assert rules["ForgetForGood"]["NoncurrentVersionExpiration"] == {"NoncurrentDays": 30}
    assert rules["ForgetForGood"]["ExpiredObjectDeleteMarker"] is True
    assert rules["AbortUploads"]["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}
    assert (rules["EmptyTemporary"]["Prefix"], rules["EmptyTemporary"]["ExpirationInDays"]) == ("tmp/", 1)


def test_no_rule_of_the_lifecycle_deletes_a_memory(template: Template) -> None:
    rules = template.one(BUCKET)["LifecycleConfiguration"]["Rules"]
    expiring = [rule for rule in rules if "ExpirationInDays" in rule or "ExpirationDate" in rule]
    assert [rule["Prefix"] for rule in expiring] == ["tmp/"]


def test_the_days_of_old_versions_are_a_setting() -> None:
    rules = synthesise(noncurrentDays="7").one(BUCKET)["LifecycleConfiguration"]["Rules"]
    assert [rule["NoncurrentVersionExpiration"] for rule in rules if rule["Id"] == "ForgetForGood"] == [
        {"NoncurrentDays": 7}
    ]


def test_the_bucket_stays_when_the_stack_goes(template: Template) -> None:
    (resource,) = template.all(BUCKET).values()
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_the_bucket_goes_with_the_stack_only_if_that_is_said() -> None:
    (resource,) = synthesise(removalPolicy="destroy").all(BUCKET).values()
    assert resource["DeletionPolicy"] == "Delete"


def test_only_tls_reaches_the_bucket(template: Template) -> None:
    statements = template.one("AWS::S3::BucketPolicy")["PolicyDocument"]["Statement"]
    refused = [item["Condition"] for item in statements if item["Effect"] == "Deny" and item["Action"] == "s3:*"]
    assert {"Bool": {"aws:SecureTransport": "false"}} in refused
    assert {"NumericLessThan": {"s3:TlsVersion": 1.2}} in refused


def test_the_bucket_policy_allows_nothing(template: Template) -> None:
    statements = template.one("AWS::S3::BucketPolicy")["PolicyDocument"]["Statement"]
    assert {item["Effect"] for item in statements} == {"Deny"}


@pytest.mark.parametrize("pattern", permissions.CONDITIONAL_ONLY)
def test_a_write_without_condition_is_denied_to_everybody(template: Template, pattern: str) -> None:
    statements = template.one("AWS::S3::BucketPolicy")["PolicyDocument"]["Statement"]
    (denial,) = [item for item in statements if item.get("Sid") == "DenyBlindWrites"]
    assert (denial["Effect"], denial["Principal"], denial["Action"]) == ("Deny", {"AWS": "*"}, "s3:PutObject")
    assert denial["Condition"] == {
        "Null": {"s3:if-match": "true", "s3:if-none-match": "true"},
        "Bool": {"s3:ObjectCreationOperation": "true"},
    }
    (bucket_id,) = template.all(BUCKET)
    assert f"<{bucket_id}>/{pattern}" in [text_of(resource) for resource in denial["Resource"]]
