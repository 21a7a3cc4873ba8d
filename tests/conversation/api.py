"""The HTTP API with conversations over a fresh store in this process: real tokens, real services, any settings."""

import itertools
import json
from collections.abc import Sequence
from typing import Any

from aws_lambda_powertools import Logger

from s3_agent_memory.bootstrap import Parts, Settings
from s3_agent_memory.domain.keys import parse_namespace
from s3_agent_memory.domain.tiers import TierSettings
from s3_agent_memory.edge.http.api import HttpApi
from s3_agent_memory.edge.http.auth import authorize
from s3_agent_memory.service.conversations.digest_worker import RESERVE_MS
from s3_agent_memory.service.conversations.parts import ConversationParts
from s3_agent_memory.service.upkeep.housekeeper import Folding
from s3_agent_memory.storage.in_memory import InMemoryObjectStore
from tests.fakes.clock import FakeClock
from tests.fakes.entropy import SeededEntropy
from tests.fakes.faulty_store import FaultyObjectStore
from tests.functions.deployment import Answer, Context, answer_of, check_contract, make_event

NAMESPACE = "team"
ALL = ("long_term", "medium_term", "short_term")
_names = itertools.count(1)


class Service:
    """One deployment with a store of its own.

    Attributes:
        store: where faults are scripted.
        parts: of the conversations.
    """

    def __init__(self, settings: TierSettings | None = None) -> None:
        self.clock = FakeClock()
        self.store = FaultyObjectStore(InMemoryObjectStore(self.clock))
        memories = self.memory_parts = Parts(
            Settings(url="memory://"),
            store=self.store,
            folding=Folding.INLINE,
            clock=self.clock,
            entropy=SeededEntropy(7),
        )
        self.parts = ConversationParts.assemble(
            memories.runtime, memories.memories, memories.services, settings=settings or TierSettings()
        )
        logger = Logger(service=f"conversation-{next(_names)}", level="CRITICAL")
        self.api = HttpApi(memories.memories, conversations=self.parts.service, logger=logger, clock=self.clock)
        self.admin = self.token("root", permissions=("admin",))

    def token(self, principal: str, **grant: Any) -> str:
        """Return a fresh token; by default one that may read and write."""
        return self.memory_parts.tokens.create(principal=principal, **{"namespace": NAMESPACE, **grant})[0]

    def send(
        self, path: str, body: Any = None, *, token: str | None = None, method: str = "POST", **headers: str
    ) -> Answer:
        """Send a request as an administrator, or with another token, and check the answer against its description."""
        sent = {"content-type": "application/json", "authorization": f"Bearer {token or self.admin}"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        event = make_event(method, path, body, sent)
        decision = authorize(event, self.memory_parts.tokens)
        event["requestContext"]["authorizer"] = {"lambda": decision["context"]}
        answer = answer_of(self.api.handle(event, Context()))
        check_contract(method, path, answer)
        return answer

    def write(self, content: str | list[str], *, role: str = "user", **attribution: Any) -> Answer:
        """Write turns as an administrator."""
        contents = [content] if isinstance(content, str) else content
        turns = [{"role": role, "content": item} for item in contents]
        return self.send("/v1/write", {"attribution": attribution, "turns": turns})

    def recall(self, query: str = "", *, include: Sequence[str] = ALL, **scope: Any) -> dict[str, Any]:
        """Recall as an administrator."""
        body = {"scope": scope, "query": query, "include": list(include)}
        answer = self.send("/v1/recall", body)
        assert answer.status == 200, answer.body
        return answer.json

    def digest(self) -> None:
        """Do what the digester does in time."""
        report = self.parts.sweeper.sweep(parse_namespace(NAMESPACE), lambda: 10 * RESERVE_MS)
        assert report is not None

    def holds(self, text: str) -> list[str]:
        """Return the keys of all objects that hold a text."""
        found = []
        for key in all_keys(self.store.inner):
            item = self.store.inner.get(key, size_max=2**30)
            if item is not None and text.encode() in item.body:
                found.append(key)
        return found


def all_keys(store: Any) -> list[str]:
    """Return every key of a store."""
    keys: list[str] = []
    while True:
        page = store.list_page("", start_after=keys[-1] if keys else "")
        keys += [item.key for item in page.objects]
        if page.is_last:
            return keys


def texts(answer: Answer) -> set[str]:
    """Return the facts of an answer."""
    return {fact["memory"] for fact in json.loads(answer.body)["long_term"]["facts"]}
