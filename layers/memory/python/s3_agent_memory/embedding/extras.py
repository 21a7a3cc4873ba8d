"""Says which extra is missing, before anything heavy is imported."""

from importlib.util import find_spec

from s3_agent_memory.errors import ValidationError


def require(*packages: str, extra: str) -> None:
    """Do nothing if the packages are installed; none is imported.

    Raises:
        ValidationError: one is not; the message names the extra that brings it.
    """
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise ValidationError(f"{', '.join(missing)} is not installed; the extra brings it: pip install '.[{extra}]'")
