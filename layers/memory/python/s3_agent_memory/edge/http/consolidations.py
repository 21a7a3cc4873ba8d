"""The endpoints of consolidation: permission first, one call of the store, one answer."""

from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, Any, Final
from urllib.parse import unquote

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Path, Query

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.domain.clock import Clock
from s3_agent_memory.domain.consolidation import RunState
from s3_agent_memory.domain.grants import Permission
from s3_agent_memory.domain.keys import Namespace
from s3_agent_memory.edge.consolidation_documents import plan_document, run_document
from s3_agent_memory.edge.http.answers import json_response
from s3_agent_memory.edge.http.auth import Access
from s3_agent_memory.wire.consolidations import ConsolidationRequest

# The gateway waits 29 seconds; a run that is not done by then goes on with the next request or schedule.
SECONDS_MAX: Final = 15.0

NamespaceParam = Annotated[str | None, Query(description="Namespace inside the grant of a prefix token.")]
RunIdParam = Annotated[str, Path(description="Id of a consolidation.")]


class ConsolidationEndpoints:
    """One method an endpoint; the names are those of the route table."""

    def __init__(self, app: APIGatewayHttpResolver, store: MemoryStore, *, clock: Clock) -> None:
        self._app = app
        self._store = store
        self._clock = clock

    def consolidate(
        self, body: Annotated[ConsolidationRequest, Body()], namespace: NamespaceParam = None
    ) -> Response[Any]:
        """Merge memories that say the same; 202 if the time was up before all was done: send the request again."""
        if body.dry_run:
            plan = self._store.plan_consolidation(
                self._place(Permission.READ, namespace),
                kind=body.kind,
                threshold=body.threshold,
                merge_count_max=body.merge_count_max,
            )
            return json_response({"plan": plan_document(plan)})
        place = self._place(Permission.WRITE, namespace)
        deadline_s = self._clock.monotonic_s() + SECONDS_MAX
        run = self._store.consolidate(
            place,
            kind=body.kind,
            threshold=body.threshold,
            undo_days=body.undo_days,
            merge_count_max=body.merge_count_max,
            has_time=lambda: self._clock.monotonic_s() < deadline_s,
        )
        status = HTTPStatus.ACCEPTED if run.state is RunState.RUNNING else HTTPStatus.OK
        return json_response({"run": run_document(run)}, status=status)

    def get_consolidation(self, run_id: RunIdParam, *, namespace: NamespaceParam = None) -> Response[Any]:
        """Read the record of a run: what was merged, and why."""
        run = self._store.consolidation(self._place(Permission.READ, namespace), unquote(run_id))
        return json_response(run_document(run))

    def undo_consolidation(self, run_id: RunIdParam, *, namespace: NamespaceParam = None) -> Response[Any]:
        """Take back what a run merged; 409 once its originals have been forgotten."""
        report = self._store.undo_consolidation(self._place(Permission.WRITE, namespace), unquote(run_id))
        return json_response(asdict(report) | {"kept": list(report.kept)})

    def _place(self, permission: Permission, namespace: str | None) -> Namespace:
        return Access(self._app.context["grant"], namespace).namespace_for(permission)
