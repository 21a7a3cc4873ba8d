"""How well memories are found: recall on conversations and notes, for the default ranking and what it is made of.

    python -m benchmarks.quality [--data DIR] [--quick] [--pooled] [--variants] [--check] [--json FILE]

Every question is searched as it stands, with a limit of ten. Recall@k is the share of a question's answers among the
first k hits, averaged over questions; nDCG@10 has gain 1 for an answer. Each space of a corpus is a namespace of its
own. "over HTTP" is the local stack with its defaults; the other systems run the library in this process, as no setting
of the service chooses their ranking. All is determined but the age of memories on the day, which recency sees.
``--variants`` stores and asks the same corpora in other ways; ``--check`` fails if a figure is below its floor, or if
the default falls behind the plain mix of BM25 and cosine.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import quantiles
from typing import Final

from tqdm import tqdm

from benchmarks import quality_corpora as corpora
from benchmarks import quality_systems as systems
from benchmarks.quality_corpora import Corpus
from benchmarks.quality_http import Client, local_stack
from benchmarks.quality_library import CachedEmbedder, Library, load_by_remembering
from benchmarks.quality_measures import Measurement, Row, measure, summarise, table
from benchmarks.quality_systems import System
from benchmarks.quality_variants import variants
from s3_agent_memory import bootstrap
from s3_agent_memory.errors import ValidationError

MODEL: Final = corpora.ROOT / ".build" / "model"
CACHE: Final = corpora.ROOT / ".build" / "quality" / "embeddings.sqlite"
OVER_HTTP: Final = " over HTTP"
QUICK_STEP: Final = 5
NOISE: Final = 0.01
# Recall@10 that must be reached.
FLOORS: Final = {
    (corpora.LOCOMO, systems.DEFAULT): 0.82,
    (corpora.LOCOMO, systems.NO_MODEL): 0.79,
    (corpora.LOCOMO, systems.TEXT_ONLY): 0.65,
    (corpora.LONGMEMEVAL, systems.DEFAULT): 0.81,
    (corpora.MADIAL, systems.DEFAULT): 0.51,
}
_HTTP_SYSTEMS: Final = (systems.DEFAULT, systems.TEXT_ONLY)


# Over HTTP -----------------------------------------------------------------------------------------------------------


def measure_service(listed: Sequence[Corpus], names: Sequence[str], client: Client) -> Iterator[Row]:
    """Yield what systems reach on a running service."""
    for corpus in listed:
        for name in names:
            found, latencies_ms = _ask_service(client, corpus, systems.SYSTEMS[name])
            yield from summarise(corpus.name, name + OVER_HTTP, found)
            cuts = quantiles(latencies_ms, n=100)
            tqdm.write(f"{corpus.name}, {name}: search {cuts[49]:.1f} ms median, {cuts[94]:.1f} ms 95th percentile")


def _ask_service(client: Client, corpus: Corpus, system: System) -> tuple[list[Measurement], list[float]]:
    form = "text" if system.is_text_only else "all"
    places = {space.id: f"{_slug(corpus.name)}/{form}/{space.id}" for space in corpus.spaces}
    for space in tqdm(corpus.spaces, desc=f"{corpus.name}: importing", unit=" spaces", leave=False):
        documents = [systems.stored_form(item, is_text_only=system.is_text_only) for item in space.items]
        client.import_memories(places[space.id], documents)
    awaited = corpus.spaces if system.has_vectors else ()
    for space in tqdm(awaited, desc=f"{corpus.name}: waiting for vectors", unit=" spaces", leave=False):
        client.wait_for_vectors(places[space.id], len(space.items))
    found, latencies_ms = [], []
    pairs = [(space, question) for space in corpus.spaces for question in space.questions]
    for space, question in tqdm(pairs, desc=f"{corpus.name}: searching", unit=" questions", leave=False):
        started = time.perf_counter()
        ids = client.search(places[space.id], question.text)
        latencies_ms.append(1_000 * (time.perf_counter() - started))
        found.append(measure(question, ids))
    return found, latencies_ms


def _slug(name: str) -> str:
    return name.lower().replace(" ", "-")


def measure_stacks(listed: Sequence[Corpus]) -> Iterator[Row]:
    """Yield what the local stack reaches with its defaults and without a model."""
    with local_stack() as client:
        yield from measure_service(listed, _HTTP_SYSTEMS, client)
    with local_stack(embeddings="none") as client:
        yield from measure_service(listed, (systems.NO_MODEL,), client)


# In this process -----------------------------------------------------------------------------------------------------


def measure_systems(listed: Sequence[Corpus], chosen: Mapping[str, System], library: Library) -> Iterator[Row]:
    """Yield what systems reach with the library in this process."""
    for corpus in listed:
        for name, system in chosen.items():
            yield from summarise(corpus.name, name, library.measure(corpus, name, system))


def measure_variants(listed: Sequence[Corpus], library: Library, remembering: Library) -> Iterator[Row]:
    """Yield what the default, the plain mix and BM25 reach on the variants."""
    for variant in variants(listed):
        user = remembering if variant.is_remembered else library
        for name in (systems.DEFAULT, systems.CLASSIC, systems.BM25):
            found = user.measure(variant.corpus, name, systems.SYSTEMS[name])
            yield summarise(variant.corpus.name, name, found)[0]


# Report --------------------------------------------------------------------------------------------------------------


def report(rows: Sequence[Row]) -> str:
    """Return one table a corpus; types of questions are shown for the default only."""
    names = list(dict.fromkeys(row.corpus for row in rows))
    parts = []
    for name in names:
        shown = [row for row in rows if row.corpus == name and (row.type == "all" or _is_default(row))]
        parts.append(f"{name}\n{table(shown, base=systems.CLASSIC)}")
    return "\n\n".join(parts)


def _is_default(row: Row) -> bool:
    return row.system == systems.DEFAULT


def shortfalls(rows: Sequence[Row]) -> list[str]:
    """Return what is below its floor, or behind the plain mix by more than noise."""
    totals = {(row.corpus, row.system): row.recall_at_10 for row in rows if row.type == "all"}
    found = []
    for (corpus, system), recall in totals.items():
        plain_system = system.removesuffix(OVER_HTTP)
        floor = FLOORS.get((corpus, plain_system), 0.0)
        if recall < floor:
            found.append(f"{corpus}: {system} reaches {recall:.3f}, the floor is {floor}")
        classic = totals.get((corpus, systems.CLASSIC), 0.0)
        if plain_system == systems.DEFAULT and recall < classic - NOISE:
            found.append(f"{corpus}: {system} reaches {recall:.3f}, the {systems.CLASSIC} {classic:.3f}")
    return found


def main() -> int:
    """Measure, print, and return the exit code."""
    arguments = _parser().parse_args()
    data = arguments.data or corpora.find_data()
    if arguments.data and not arguments.data.is_dir():
        sys.exit(f"error: {arguments.data} is no directory")
    listed = corpora.read_corpora(data)
    if len(listed) == 1:
        print(corpora.WHERE_FROM)
    if arguments.pooled:
        listed += [corpora.pool(corpus, corpora.POOLED) for corpus in listed if corpus.name == corpora.LOCOMO]
    if arguments.quick:
        listed = [corpora.thin(corpus, step=QUICK_STEP) for corpus in listed]
    rows = list(_measured(listed, arguments))
    print(report(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps([row.as_json() for row in rows], indent=1) + "\n", "utf-8")
    failures = shortfalls(rows)
    print("".join(f"\nBELOW: {failure}" for failure in failures))
    return 1 if failures and arguments.check else 0


def _measured(listed: Sequence[Corpus], arguments: argparse.Namespace) -> Iterator[Row]:
    parts = set(arguments.parts)
    if arguments.url:
        yield from measure_service(listed, (systems.DEFAULT,), Client(arguments.url, arguments.token))
    elif "http" in parts:
        yield from measure_stacks(listed)
    embedder = _open_embedder()
    library = Library(embedder)
    if "compare" in parts:
        yield from measure_systems(listed, systems.SYSTEMS, library)
    if "ablate" in parts:
        yield from measure_systems(listed, systems.ABLATIONS, library)
    if arguments.variants:
        yield from measure_variants(listed, library, Library(embedder, load=load_by_remembering))


def _open_embedder() -> CachedEmbedder:
    try:
        embedder = bootstrap.build_embedder(bootstrap.Settings(embeddings="onnx", embedding_model=str(MODEL)))
    except ValidationError as error:
        sys.exit(f"error: {error}; build the model with `make model`")
    assert embedder is not None
    return CachedEmbedder(embedder, CACHE)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="quality", description="Recall on conversations and notes.")
    parser.add_argument("--data", type=Path, help="a directory with corpora (default: ../*/data, if there is one)")
    parser.add_argument(
        "--parts",
        nargs="*",
        choices=("http", "compare", "ablate"),
        default=("http", "compare", "ablate"),
        help="what to measure: the service, other systems, the default without one signal each (default: all)",
    )
    parser.add_argument("--quick", action="store_true", help="a fifth of the questions, at most two spaces a corpus")
    parser.add_argument("--pooled", action="store_true", help="also all conversations of LoCoMo in one namespace")
    parser.add_argument("--variants", action="store_true", help="also store and ask the corpora in other ways")
    parser.add_argument("--check", action="store_true", help="fail if a figure is below its floor")
    parser.add_argument("--url", help="a running service, instead of the local stack")
    parser.add_argument("--token", help="a token that covers the namespace quality and all below it, for --url")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    return parser


if __name__ == "__main__":
    sys.exit(main())
