"""What the CDK runs to learn what to deploy: ``cdk synth``, ``cdk deploy``. Needs neither an AWS account nor Docker."""

import sys

from aws_cdk import App, Validations
from cdk_nag import AwsSolutionsChecks, ServerlessChecks

from infra.function_table import FUNCTION_NAMES
from infra.settings import Settings
from infra.stack import AgentMemoryStack


def main() -> int:
    """Write the cloud assembly; return 2 if a setting is not what it may be."""
    app = App()
    try:
        settings = Settings.from_context(app.node.get_all_context(), function_names=FUNCTION_NAMES)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    AgentMemoryStack(app, settings)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
    app.synth()
    return 0


if __name__ == "__main__":
    sys.exit(main())
