"""Recall on long conversations, over HTTP: how often the evidence of a question is among the first hits.

Reads a file of LoCoMo (Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents", ACL 2024),
which is not part of this project: data/locomo10.json of https://github.com/snap-research/locomo. One turn of a dialogue
is one memory, one dialogue is one namespace. Questions of the categories 1 (multi-hop), 2 (temporal), 3 (open-domain)
and 4 (single-hop) with evidence in the dialogue are searched as they stand. Recall@k is the share of a question's
evidence among the first k hits, averaged over questions; nDCG@10 has gain 1 for evidence (Järvelin and Kekäläinen
2002).

    python benchmarks/locomo.py --data locomo10.json
"""

import argparse
import http.client
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from socket import socket
from statistics import fmean, quantiles
from typing import Any
from urllib.parse import urlencode, urlsplit

from tqdm import tqdm

from s3_agent_memory import bootstrap

ROOT = Path(__file__).resolve().parents[1]
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
RESULT_COUNT = 10
IMPORT_COUNT = 100
NDJSON = "application/x-ndjson"
START_SECONDS_MAX = 30.0
ROOT_NAMESPACE = "locomo"
WHERE_FROM = (
    "the data is not part of this project: get data/locomo10.json from https://github.com/snap-research/locomo "
    "and name it: make bench-locomo ARGS='--data locomo10.json'"
)


@dataclass(frozen=True)
class Question:
    """A question and the ids of the memories that hold its answer."""

    text: str
    category: int
    evidence: frozenset[str]


@dataclass(frozen=True)
class Dialogue:
    """One conversation: its turns as memories of schema 1, and its questions."""

    name: str
    memories: tuple[dict[str, object], ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Measurement:
    """What one search found and how long it took."""

    category: int
    recall_at_5: float
    recall_at_10: float
    ndcg_at_10: float
    latency_ms: float


# Data ----------------------------------------------------------------------------------------------------------------


def find_data() -> Path | None:
    """Return a LoCoMo file in a folder ``data`` of a directory beside this repository, if there is one."""
    return next(iter(sorted(ROOT.parent.glob("*/data/locomo*.json"))), None)


def read_dialogues(path: Path, *, with_author: bool) -> list[Dialogue]:
    """Return the dialogues of a LoCoMo file; ``with_author`` puts ``speaker: `` before each text."""
    return [_read_dialogue(sample, with_author=with_author) for sample in json.loads(path.read_text("utf-8"))]


def _read_dialogue(sample: dict[str, Any], *, with_author: bool) -> Dialogue:
    conversation = sample["conversation"]
    names = sorted((name for name in conversation if re.fullmatch(r"session_\d+", name)), key=lambda n: int(n[8:]))
    memories = tuple(
        memory
        for name in names
        for memory in _read_session(
            f"{sample['sample_id']}/{name}",
            conversation[f"{name}_date_time"],
            conversation[name],
            with_author=with_author,
        )
    )
    ids = {str(memory["id"]) for memory in memories}
    questions = (_read_question(document, ids) for document in sample["qa"] if document["category"] in CATEGORIES)
    return Dialogue(sample["sample_id"], memories, tuple(question for question in questions if question.evidence))


def _read_session(
    session: str, date: str, turns: Sequence[dict[str, str]], *, with_author: bool
) -> Iterator[dict[str, object]]:
    start = datetime.strptime(date.replace(",", ""), "%I:%M %p on %d %B %Y").replace(tzinfo=UTC)
    for position, turn in enumerate(turns):
        caption = turn.get("blip_caption")
        text = turn["text"] + (f" [image: {caption}]" if caption else "")
        # Seconds keep the order of the turns; the data has one time a session.
        yield {
            "id": turn["dia_id"].replace(":", "."),
            "namespace": [ROOT_NAMESPACE],
            "kind": "episodic",
            "content": f"{turn['speaker']}: {text}" if with_author else text,
            "created_at": (start + timedelta(seconds=position)).isoformat(),
            "attribution": {"author": turn["speaker"], "session_id": session},
        }


def _read_question(document: dict[str, Any], ids: set[str]) -> Question:
    # Several turns may share one string, numbers may be padded with zeros, and some name turns that do not exist.
    named = [f"D{int(a)}.{int(b)}" for text in document["evidence"] for a, b in re.findall(r"D?:?(\d+):(\d+)", text)]
    return Question(document["question"], document["category"], frozenset(named) & ids)


# Service -------------------------------------------------------------------------------------------------------------


class Client:
    """Speaks to one memory service over one connection that stays open."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = connect(parts.netloc, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}"}

    def post(self, path: str, body: bytes, *, content_type: str, **query: str) -> Any:
        """Return the JSON answer; end the program with the answer's text if the service refuses."""
        target = f"{path}?{urlencode(query)}"
        self._connection.request("POST", target, body, {**self._headers, "Content-Type": content_type})
        response = self._connection.getresponse()
        answer = response.read()
        if response.status >= 300:
            sys.exit(f"POST {target}: {response.status} {answer.decode(errors='replace')}")
        return json.loads(answer)

    def import_memories(self, namespace: str, memories: Sequence[dict[str, object]]) -> None:
        """Store memories, as many at once as a service surely finishes in the time of one request."""
        for start in range(0, len(memories), IMPORT_COUNT):
            lines = [json.dumps(memory) for memory in memories[start : start + IMPORT_COUNT]]
            body = "\n".join(lines).encode()
            report = self.post("/v1/import", body, content_type=NDJSON, namespace=namespace, overwrite="true")
            if report["errors"] or report["unread_lines"]:
                sys.exit(f"import into {namespace}: {report}")

    def search(self, namespace: str, query: str) -> list[str]:
        """Return the ids of the hits, best first."""
        body = json.dumps({"query": query, "limit": RESULT_COUNT}).encode()
        answer = self.post("/v1/memories/search", body, content_type="application/json", namespace=namespace)
        return [hit["memory"]["id"] for hit in answer["hits"]]


@contextmanager
def local_stack() -> Iterator[Client]:
    """Run the functions on this machine over an empty directory while the block runs."""
    with tempfile.TemporaryDirectory(prefix="locomo-") as folder:
        store_url = f"file://{folder}/store"
        port = _free_port()
        environment = {**os.environ, "PORT": str(port), "S3_AGENT_MEMORY_URL": store_url}
        with (Path(folder) / "output").open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, ROOT / "functions" / "local_stack.py"],
                cwd=folder,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            _wait_until_ready(process, port, Path(folder) / "output")
            yield Client(f"http://127.0.0.1:{port}", _create_token(store_url))
        finally:
            process.terminate()
            process.wait(timeout=START_SECONDS_MAX)


def _free_port() -> int:
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_ready(process: subprocess.Popen[bytes], port: int, output: Path) -> None:
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline and process.poll() is None:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.05)
    sys.exit(f"the local stack did not start:\n{output.read_text('utf-8', 'replace')}")


def _create_token(store_url: str) -> str:
    service = bootstrap.build_token_service(bootstrap.Settings(url=store_url))
    token, _ = service.create(principal="benchmark", namespace=ROOT_NAMESPACE, covers_children=True)
    return token


# Measuring -----------------------------------------------------------------------------------------------------------


def measure(client: Client, dialogues: Sequence[Dialogue]) -> tuple[list[Measurement], float]:
    """Import the dialogues, search their questions, and return what was found and the import's memories a second."""
    started = time.perf_counter()
    for dialogue in tqdm(dialogues, desc="import", unit=" dialogues"):
        client.import_memories(_namespace(dialogue), dialogue.memories)
    seconds = time.perf_counter() - started
    pairs = [(dialogue, question) for dialogue in dialogues for question in dialogue.questions]
    found = [_search(client, *pair) for pair in tqdm(pairs, desc="search", unit=" questions")]
    return found, sum(len(dialogue.memories) for dialogue in dialogues) / seconds


def _namespace(dialogue: Dialogue) -> str:
    return f"{ROOT_NAMESPACE}/{dialogue.name}"


def _search(client: Client, dialogue: Dialogue, question: Question) -> Measurement:
    started = time.perf_counter()
    ids = client.search(_namespace(dialogue), question.text)
    latency_ms = 1_000 * (time.perf_counter() - started)
    is_evidence = [memory_id in question.evidence for memory_id in ids]
    return Measurement(
        question.category,
        sum(is_evidence[:5]) / len(question.evidence),
        sum(is_evidence) / len(question.evidence),
        ndcg(is_evidence, len(question.evidence)),
        latency_ms,
    )


def ndcg(is_evidence: Sequence[bool], evidence_count: int) -> float:
    """Return the discounted cumulative gain of a ranking over that of the best possible one."""
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(evidence_count, RESULT_COUNT)))
    return sum(1 / math.log2(rank + 2) for rank, is_hit in enumerate(is_evidence) if is_hit) / ideal


def report(found: Sequence[Measurement], memories_per_second: float) -> str:
    """Return the figures as a table."""
    lines = [f"{'category':12} {'questions':>9} {'recall@5':>9} {'recall@10':>9} {'nDCG@10':>9}"]
    for category, name in CATEGORIES.items():
        lines.append(_row(name, [one for one in found if one.category == category]))
    lines.append(_row("all", found))
    latencies = quantiles((one.latency_ms for one in found), n=100)
    lines.append(f"import: {memories_per_second:.0f} memories/s")
    lines.append(f"search: {latencies[49]:.1f} ms median, {latencies[94]:.1f} ms 95th percentile")
    return "\n".join(lines)


def _row(name: str, found: Sequence[Measurement]) -> str:
    if not found:
        return f"{name:12} {0:9}"
    figures = (fmean(getattr(one, field) for one in found) for field in ("recall_at_5", "recall_at_10", "ndcg_at_10"))
    return f"{name:12} {len(found):9} " + " ".join(f"{figure:9.3f}" for figure in figures)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Recall on the long conversations of LoCoMo, over HTTP.")
    parser.add_argument("--data", type=Path, help="a LoCoMo file (default: ../*/data/locomo*.json, if there is one)")
    parser.add_argument("--url", help="a running service (default: start the local stack over an empty directory)")
    parser.add_argument("--token", help=f"a token that covers {ROOT_NAMESPACE} and all below it, for --url")
    parser.add_argument("--text-only", action="store_true", help="leave the speaker's name out of the content")
    arguments = parser.parse_args()
    if arguments.url and not arguments.token:
        parser.error("--url needs --token")
    path = arguments.data or find_data()
    if path is None:
        print(f"skipped: there is no LoCoMo file beside this repository; {WHERE_FROM}")
        return
    if not path.is_file():
        sys.exit(f"error: there is no file {path}; {WHERE_FROM}")
    dialogues = read_dialogues(path, with_author=not arguments.text_only)
    if arguments.url:
        print(report(*measure(Client(arguments.url, arguments.token), dialogues)))
        return
    with local_stack() as client:
        print(report(*measure(client, dialogues)))


if __name__ == "__main__":
    main()
