"""What the HTTP API does with one memory or one question, whether it comes alone or inside a batch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

from pydantic import TypeAdapter
from pydantic import ValidationError as ShapeError

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.domain.grants import Permission
from s3_agent_memory.domain.memory import Attribution, Memory
from s3_agent_memory.domain.session_keys import parse_derived_id
from s3_agent_memory.edge.documents import (
    ANSWER_BYTES_MAX,
    Document,
    answer_size_bytes,
    encode_answer,
    memory_document,
    recall_document,
    receipt_document,
)
from s3_agent_memory.edge.http.auth import Access
from s3_agent_memory.edge.http.problems import invalid_request, problem_of
from s3_agent_memory.errors import ValidationError
from s3_agent_memory.wire import problems
from s3_agent_memory.wire.problems import Problem, make_problem
from s3_agent_memory.wire.requests import (
    AttributionMessage,
    GetOperation,
    Operation,
    RememberRequest,
    SearchRequest,
    UpdateRequest,
)

# A result of one write is far smaller than what lies between this and the largest answer.
BATCH_FULL_BYTES: Final = 4 * 1024 * 1024

_OPERATION: TypeAdapter[Operation] = TypeAdapter(Operation)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a successful operation answers.

    Attributes:
        version: of the memory in the document, if there is one; becomes the ETag.
    """

    document: Document
    status: HTTPStatus = HTTPStatus.OK
    version: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class Operations:
    """The operations on one store; every one asks the access for its namespace first."""

    def __init__(self, store: MemoryStore, *, report_failure: Callable[[Exception], None]) -> None:
        self._store = store
        self._report_failure = report_failure

    def remember(self, access: Access, request: RememberRequest) -> Outcome:
        """Store a memory."""
        memory = self._store.remember(
            access.namespace_for(Permission.WRITE),
            request.content,
            kind=request.kind,
            tags=request.tags,
            importance=request.importance,
            ttl=request.ttl,
            expires_at=request.expires_at,
            source=request.source,
            data=request.data,
            metadata=request.metadata,
            attribution=_attribution(request.attribution),
            valid_from=request.valid_from,
            valid_to=request.valid_to,
            pinned=request.pinned,
            id=claimed_id(access, request.id),
            resurrect=request.resurrect,
        )
        query = "" if access.requested is None else "?" + urlencode({"namespace": access.requested})
        headers = {"Location": f"/v1/memories/{memory.id}{query}"}
        return Outcome(memory_document(memory), HTTPStatus.CREATED, memory.version, headers)

    def get(self, access: Access, memory_id: str) -> Outcome:
        """Read a memory."""
        memory = self._store.get(access.namespace_for(Permission.READ), memory_id)
        return Outcome(memory_document(memory), version=memory.version)

    def update(self, access: Access, memory_id: str, request: UpdateRequest) -> Outcome:
        """Change the fields that the request names."""
        changes = request.model_dump(include=request.model_fields_set - {"op", "id"})
        memory = self._store.update(access.namespace_for(Permission.WRITE), memory_id, **changes)
        return Outcome(changed_document(access, memory), version=memory.version)

    def forget(
        self, access: Access, memory_id: str, reason: str | None, *, expected_version: int | None = None
    ) -> Outcome:
        """Delete a memory for good."""
        place = access.namespace_for(Permission.WRITE)
        self._store.forget(place, memory_id, reason=reason, expected_version=expected_version)
        return Outcome({"id": memory_id, "forgotten": True})

    def search(self, access: Access, request: SearchRequest) -> Outcome:
        """Find memories."""
        result = self._store.recall(
            access.namespace_for(Permission.READ),
            request.query,
            kind=request.kind,
            tags=request.tags,
            filter=request.filter,
            limit=request.limit,
            consistency=request.consistency,
            explain=request.explain,
            as_of=request.as_of,
        )
        return Outcome(recall_document(result))

    def batch(self, access: Access, operations: list[Any]) -> Outcome:
        """Do operations one after the other; one that fails has a problem as its result and stops no other.

        The answer as a whole must fit: an operation is not begun once it is nearly full, and what an operation only
        read is left out if it does not fit. So what was written is always reported.
        """
        results: list[Document] = []
        size_bytes = 0
        for operation in operations:
            result = _NOT_DONE if size_bytes > BATCH_FULL_BYTES else self._result_of(access, operation)
            if size_bytes + answer_size_bytes(encode_answer(result)) > ANSWER_BYTES_MAX:
                result = _LEFT_OUT
            size_bytes += answer_size_bytes(encode_answer(result))
            results.append(result)
        return Outcome({"results": results})

    def _result_of(self, access: Access, operation: object) -> Document:
        try:
            outcome = self._dispatch(access, _parse_operation(operation))
        except Exception as error:  # noqa: BLE001  # The results of what is done must reach the client.
            self._report_failure(error)
            return _problem_result(problem_of(error))
        return {"status": outcome.status.value, "body": outcome.document}

    def _dispatch(self, access: Access, operation: Operation) -> Outcome:
        if isinstance(operation, RememberRequest):
            return self.remember(access, operation)
        if isinstance(operation, UpdateRequest):
            return self.update(access, operation.id, operation)
        if isinstance(operation, SearchRequest):
            return self.search(access, operation)
        if isinstance(operation, GetOperation):
            return self.get(access, operation.id)
        return self.forget(access, operation.id, operation.reason, expected_version=operation.expected_version)


def changed_document(access: Access, memory: Memory) -> Document:
    """Return a changed memory, which holds more than the request said, as far as the caller may read it."""
    return memory_document(memory) if access.may_read else receipt_document(memory)


def claimed_id(access: Access, memory_id: str | None) -> str | None:
    """Return the id that a client chose; taking one that a conversation needs keeps its fact from being stored.

    Raises:
        ValidationError: it is such an id, and the client is no administrator.
    """
    is_derived = memory_id is not None and parse_derived_id(memory_id) is not None
    if is_derived and Permission.ADMIN not in access.grant.permissions:
        raise ValidationError("ids of this form are made for the memories of conversations; choose another one")
    return memory_id


def _problem_result(problem: Problem) -> Document:
    return {"status": problem.status, "problem": problem.model_dump(exclude_none=True)}


_NOT_DONE: Final = _problem_result(
    make_problem(problems.ANSWER_TOO_LARGE, "not done: the answer is full; send the operation in another batch")
)
_LEFT_OUT: Final = _problem_result(
    make_problem(problems.ANSWER_TOO_LARGE, "the result does not fit; ask for less, or in another batch")
)


def _parse_operation(operation: object) -> Operation:
    try:
        return _OPERATION.validate_python(operation)
    except ShapeError as error:
        # The first step of a location is the kind of operation, which the client did not write as a field.
        found = [{"loc": ("body", *(item["loc"][1:] or ("op",))), "msg": item["msg"]} for item in error.errors()]
        raise invalid_request(found) from None


def _attribution(message: AttributionMessage | None) -> Attribution | None:
    return None if message is None else Attribution(**message.model_dump())
