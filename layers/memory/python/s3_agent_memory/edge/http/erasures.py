"""The endpoints of erasures: begun and moved on by one request, read by another."""

from http import HTTPStatus
from typing import Annotated, Any, Final

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Path, Query

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.domain.erasure import Erasure, erasure_to_json
from s3_agent_memory.domain.grants import Permission
from s3_agent_memory.edge.http.answers import json_response
from s3_agent_memory.edge.http.auth import Access
from s3_agent_memory.errors import ValidationError
from s3_agent_memory.wire.erasures import ErasureRequest

# Less than API Gateway waits for an answer, with time left for the piece of work that is under way.
SECONDS_MAX: Final = 15.0

NamespaceParam = Annotated[str | None, Query(description="Namespace inside the grant of a prefix token.")]
ErasureIdParam = Annotated[str, Path(description="Id of an erasure.")]


class ErasureEndpoints:
    """One method an endpoint; the names are those of the route table."""

    def __init__(self, app: APIGatewayHttpResolver, store: MemoryStore) -> None:
        self._app = app
        self._store = store

    def begin_erasure(
        self, body: Annotated[ErasureRequest, Body()], *, namespace: NamespaceParam = None
    ) -> Response[Any]:
        """Erase the namespace, or what exactly one user, agent, session or list of ids has in it, for good.

        `confirm` is the namespace by its name, and one of `everything`, `user_id`, `agent_id`, `session_id` and `ids`
        says what goes. 202 means that there is more to do: send the same request again to go on at once, or leave it
        to the sweeper. The token needs the permission `erase`.
        """
        access = self._access(namespace)
        place = access.namespace_for(Permission.ERASE)
        scope = body.model_dump(exclude={"confirm", "everything"}, exclude_none=True)
        if bool(body.everything) + len(scope) != 1:
            raise ValidationError("say what goes: exactly one of everything (true), user_id, agent_id, session_id, ids")
        erasure = self._store.erase(
            place, confirm=body.confirm, requested_by=access.grant.principal, seconds_max=SECONDS_MAX, **scope
        )
        return _respond(erasure, status=HTTPStatus.OK if erasure.is_finished else HTTPStatus.ACCEPTED)

    def read_erasure(self, erasure_id: ErasureIdParam, *, namespace: NamespaceParam = None) -> Response[Any]:
        """Read the report of an erasure, finished or not."""
        place = self._access(namespace).namespace_for(Permission.ERASE)
        return _respond(self._store.erasure(place, erasure_id))

    def _access(self, namespace: str | None) -> Access:
        return Access(self._app.context["grant"], namespace)


def _respond(erasure: Erasure, *, status: HTTPStatus = HTTPStatus.OK) -> Response[Any]:
    return json_response(erasure_to_json(erasure), status=status)
