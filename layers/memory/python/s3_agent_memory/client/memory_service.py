"""The asynchronous client of the conversation memory service."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Final, Self, TypeVar

import httpx
import pydantic

from s3_agent_memory.client import problems
from s3_agent_memory.client.retries import UNSENT, Retries, is_passing
from s3_agent_memory.domain.clock import Clock, Entropy, SystemClock, SystemEntropy
from s3_agent_memory.domain.ids import new_nonce
from s3_agent_memory.errors import AgentMemoryError, BackendError, UnknownOutcomeError, ValidationError
from s3_agent_memory.wire.conversation import (
    ALL_TIERS,
    Attribution,
    FailureModeName,
    ForgetAnswer,
    ForgetRequest,
    ListRequest,
    LongTerm,
    MediumTerm,
    RecallAnswer,
    RecallRequest,
    Scope,
    ShortTerm,
    TierName,
    Turn,
    WriteAnswer,
    WriteRequest,
)

logger = logging.getLogger(__name__)

TIMEOUT_SECONDS: Final = 10.0
ANSWER_BYTES_MAX: Final = 16 * 1024 * 1024
_Answer = TypeVar("_Answer", bound=pydantic.BaseModel)


class MemoryServiceClient:
    """Remembers conversations for an agent, and never keeps the agent from going on.

    A recall that fails is an empty one with ``degraded`` set; a write or a forget that fails returns False. With
    ``failure_mode="strict"`` these two raise instead. A request that got no answer, or one that may be better next
    time, is sent again after a growing, random wait; a write has an id, so that its turns are stored once.

    Args:
        base_url: of the service, such as ``https://memory.example.com``.
        token: sent as a bearer token; None sends none.
        timeout_seconds: of each step of one attempt: to connect, to send, to get the next byte.
        retries: how often and how patiently a request is tried.
        transport: of httpx, instead of the network.
        clock, entropy: make the ids of writes.
        sleep: how it waits.

    Example:
        async with MemoryServiceClient("http://127.0.0.1:8787", token=token) as memory:
            recalled = await memory.recall(Scope(level="user", principal="alice"), "what may Alice eat?")
            prompt = recalled.long_term.block if recalled.long_term else ""
    """

    def __init__(
        self,
        base_url: str,
        *,
        token: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        retries: Retries | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._retries = retries or Retries()
        self._clock, self._entropy = clock or SystemClock(), entropy or SystemEntropy()
        self._sleep = sleep
        self._http = httpx.AsyncClient(
            base_url=base_url.rstrip("/"),
            headers={} if token is None else {"Authorization": f"Bearer {token}"},
            timeout=timeout_seconds,
            transport=transport,
        )

    async def recall(
        self,
        scope: Scope,
        query: str,
        *,
        top_k: int | None = None,
        include: Sequence[TierName] = ALL_TIERS,
        short_term_token_budget: int | None = None,
    ) -> RecallAnswer:
        """Return what the scope's memories say about a query, and the state of the session; empty on any failure.

        Args:
            top_k: most long-term memories; None leaves it to the service.
            include: the tiers that are wanted; the answer has no others.
            short_term_token_budget: most tokens of the latest turns; None means the whole window.
        """
        try:
            request = RecallRequest(
                scope=scope,
                query=query,
                top_k=top_k,
                include=tuple(include),
                short_term_token_budget=short_term_token_budget,
            )
            return await self._post("/v1/recall", request, RecallAnswer)
        except (AgentMemoryError, pydantic.ValidationError) as error:
            return _nothing("recall", include, error)

    async def list(
        self,
        scope: Scope,
        *,
        include: Sequence[TierName] = ALL_TIERS,
        short_term_token_budget: int | None = None,
    ) -> RecallAnswer:
        """Return everything that is visible at a scope; empty on any failure. See ``recall`` for the arguments."""
        try:
            request = ListRequest(scope=scope, include=tuple(include), short_term_token_budget=short_term_token_budget)
            return await self._post("/v1/list", request, RecallAnswer)
        except (AgentMemoryError, pydantic.ValidationError) as error:
            return _nothing("list", include, error)

    async def write(
        self,
        attribution: Attribution,
        turns: Sequence[Turn],
        *,
        infer: bool = True,
        failure_mode: FailureModeName | None = None,
    ) -> bool:
        """Write turns to the session, oldest first; return whether the service has taken them.

        Args:
            infer: whether memories are extracted from the turns when they leave the window.
            failure_mode: ``strict`` raises instead of returning False; None leaves the service's part to the service.

        Raises:
            AgentMemoryError: in strict mode; its class says what to do, and ``UnknownOutcomeError`` that the turns may
                have been written all the same.
        """
        try:
            request = _checked(
                WriteRequest,
                attribution=attribution,
                turns=tuple(turns),
                infer=infer,
                failure_mode=failure_mode,
                write_id=self._new_write_id(),
            )
            answer = await self._post("/v1/write", request, WriteAnswer)
        except AgentMemoryError as error:
            return _failed("write", failure_mode, error)
        return answer.accepted

    async def forget(self, scope: Scope, *, failure_mode: FailureModeName | None = None) -> bool:
        """Erase what is in a scope, in all tiers; return whether that is done.

        Args:
            failure_mode: ``strict`` raises instead of returning False; None leaves the service's part to the service.

        Raises:
            AgentMemoryError: in strict mode; its class says what to do.
        """
        try:
            request = ForgetRequest(scope=scope, failure_mode=failure_mode)
            answer = await self._post("/v1/forget", request, ForgetAnswer)
        except AgentMemoryError as error:
            return _failed("forget", failure_mode, error)
        return answer.forgotten

    async def close(self) -> None:
        """Close the connections; the client is of no use afterwards."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _post(self, path: str, request: pydantic.BaseModel, kind: type[_Answer]) -> _Answer:
        body = request.model_dump_json(exclude_none=True).encode()
        response, answer = await self._send(path, body)
        if response.status_code >= 300:
            raise problems.error_of(response.status_code, answer)
        try:
            return kind.model_validate_json(answer)
        except pydantic.ValidationError as error:
            raise BackendError(f"the answer of the memory service to {path} breaks the contract") from error

    async def _send(self, path: str, body: bytes) -> tuple[httpx.Response, bytes]:
        """Return the first answer that is not to be asked for again, or the last one."""
        for attempt in range(self._retries.attempt_count_max - 1):
            response: httpx.Response | None = None
            try:
                response, answer = await self._send_once(path, body)
                if not is_passing(response.status_code):
                    return response, answer
            except httpx.TransportError:
                pass
            await self._sleep(self._retries.wait_seconds(attempt, self._random_fraction(), response))
        try:
            return await self._send_once(path, body)
        except httpx.TransportError as error:
            raise _lost(error) from error

    async def _send_once(self, path: str, body: bytes) -> tuple[httpx.Response, bytes]:
        headers = {"Content-Type": "application/json"}
        try:
            async with self._http.stream("POST", path, content=body, headers=headers) as response:
                answer = bytearray()
                async for chunk in response.aiter_bytes():
                    answer += chunk
                    if len(answer) > ANSWER_BYTES_MAX:
                        raise BackendError(f"the memory service answered with more than {ANSWER_BYTES_MAX} bytes")
                return response, bytes(answer)
        except httpx.TransportError:
            raise
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise BackendError(f"the memory service cannot be asked: {type(error).__name__}") from error

    def _new_write_id(self) -> str:
        return f"{self._clock.now_us() // 1_000:013d}-{new_nonce(self._entropy)}"

    def _random_fraction(self) -> float:
        return int.from_bytes(self._entropy.random_bytes(4)) / 2.0**32


def _checked(kind: type[_Answer], **fields: object) -> _Answer:
    try:
        return kind(**fields)
    except pydantic.ValidationError as error:
        reasons = "; ".join(str(item["msg"]) for item in error.errors(include_input=False, include_url=False))
        raise ValidationError(f"the request is wrong: {reasons}") from error


def _lost(error: httpx.TransportError) -> BackendError:
    """Return the error for a request without an answer. Of the reason only the class: its text may hold the URL."""
    if isinstance(error, UNSENT):
        return BackendError(f"the memory service cannot be reached: {type(error).__name__}")
    return UnknownOutcomeError(f"the memory service gave no answer: {type(error).__name__}")


def _nothing(what: str, include: Sequence[TierName], error: Exception) -> RecallAnswer:
    logger.warning("%s failed and is empty: %s", what, type(error).__name__)
    return RecallAnswer(
        long_term=LongTerm() if "long_term" in include else None,
        medium_term=MediumTerm() if "medium_term" in include else None,
        short_term=ShortTerm() if "short_term" in include else None,
        degraded=True,
    )


def _failed(what: str, failure_mode: FailureModeName | None, error: AgentMemoryError) -> bool:
    if failure_mode == "strict":
        raise error
    # The service's own words may repeat what was sent.
    logger.warning('%s failed: %s; with failure_mode="strict" the error says why', what, type(error).__name__)
    return False
