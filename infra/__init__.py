"""The infrastructure: what ``cdk deploy`` puts into an AWS account, as constructs of the AWS CDK."""
