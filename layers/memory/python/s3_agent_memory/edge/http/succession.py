"""The endpoints of facts that change."""

from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import unquote, urlencode

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Path, Query

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.domain.grants import Permission
from s3_agent_memory.domain.memory import Attribution
from s3_agent_memory.edge.documents import history_document
from s3_agent_memory.edge.http.answers import json_response
from s3_agent_memory.edge.http.auth import Access
from s3_agent_memory.edge.http.operations import changed_document, claimed_id
from s3_agent_memory.edge.http.preconditions import IfMatchParam, expect_version
from s3_agent_memory.wire.succession import SupersedeRequest

NamespaceParam = Annotated[str | None, Query(description="Namespace inside the grant of a prefix token.")]
MemoryIdParam = Annotated[str, Path(description="Id of a memory.")]


class SuccessionEndpoints:
    """One method an endpoint; the names are those of the route table."""

    def __init__(self, app: APIGatewayHttpResolver, store: MemoryStore) -> None:
        self._app = app
        self._store = store

    def supersede_memory(
        self,
        memory_id: MemoryIdParam,
        body: Annotated[SupersedeRequest, Body()],
        *,
        if_match: IfMatchParam = None,
        namespace: NamespaceParam = None,
    ) -> Response[Any]:
        """Store what is true instead of a memory, which stays as it is and is found with `as_of` a time before.

        With `If-Match` or `expected_version` only if that one still has this version (409 otherwise).
        """
        access = self._access(namespace)
        place = access.namespace_for(Permission.WRITE)
        request = expect_version(body, if_match)
        given = request.model_dump(include=request.model_fields_set)
        given["new_id"] = claimed_id(access, body.new_id)
        if "attribution" in given:
            given["attribution"] = Attribution(**given["attribution"])
        memory = self._store.supersede(place, unquote(memory_id), **given)
        query = "" if access.requested is None else "?" + urlencode({"namespace": access.requested})
        headers = {"Location": f"/v1/memories/{memory.id}{query}", "ETag": f'"{memory.version}"'}
        return json_response(changed_document(access, memory), status=HTTPStatus.CREATED, headers=headers)

    def read_history(self, memory_id: MemoryIdParam, *, namespace: NamespaceParam = None) -> Response[Any]:
        """Read the versions of a memory, what it took the place of, and what took its place."""
        place = self._access(namespace).namespace_for(Permission.READ)
        return json_response(history_document(self._store.history(place, unquote(memory_id))))

    def _access(self, namespace: str | None) -> Access:
        return Access(self._app.context["grant"], namespace)
