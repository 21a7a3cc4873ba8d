"""What a client says a memory must still be: `If-Match`, beside the field of a body."""

from typing import Annotated, TypeVar

from aws_lambda_powertools.event_handler.openapi.params import Header

from s3_agent_memory.errors import ValidationError
from s3_agent_memory.wire.requests import UpdateRequest
from s3_agent_memory.wire.succession import SupersedeRequest

IfMatchParam = Annotated[str | None, Header(alias="If-Match", description="ETag the memory must still have.")]

_Request = TypeVar("_Request", UpdateRequest, SupersedeRequest)


def expect_version(request: _Request, if_match: str | None) -> _Request:
    """Return a request with the version that its header names.

    Raises:
        ValidationError: the header names no version, or another one than the body.
    """
    version = version_of(if_match)
    if version is None:
        return request
    if request.expected_version not in (None, version):
        raise ValidationError("If-Match and expected_version name different versions")
    return request.model_copy(update={"expected_version": version})


def version_of(if_match: str | None) -> int | None:
    """Return the version that an ETag stands for; None for none, and for any.

    Raises:
        ValidationError: it is no ETag of this API.
    """
    if if_match is None or if_match.strip() == "*":
        return None
    digits = if_match.strip().removeprefix("W/").strip('"')
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 16:
        raise ValidationError('If-Match must be the ETag of one version, such as "3"')
    return int(digits)
