"""What embedding costs: cold start in fresh processes, texts in a second, latency of one text, memory, layer size.

    .venv/bin/python benchmarks/embedding.py [--model .build/model] [--layer] [--json FILE]

One thread. "CPU ms" is the processor time of one text among many: what it takes on a processor that nobody else uses.
Texts are English prose (Python's own language reference), cut into pieces of so many words. Times
of a cold start are the median of several processes whose files are in the cache of the operating system; a machine that
has just started reads them from its disk first.
"""

import argparse
import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path
from pydoc_data.topics import topics
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import Any

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))

from layers.onnx.build_model import build_model
from layers.onnx.layer_size import ARCHITECTURES, measure_layer
from s3_agent_memory.embedding.checked import CheckedEmbedder, adapt
from s3_agent_memory.embedding.onnx import OnnxEmbedder
from s3_agent_memory.embedding.windows import embed_windows

ROOT = Path(__file__).resolve().parents[1]
WORD_COUNTS = {"query (6 words)": 6, "short (15 words)": 15, "medium (40 words)": 40, "long (160 words)": 160}
SECONDS_OF_WORK = 4.0
LATENCY_COUNT = 100
WINDOW_TEXT_WORDS = 600
WINDOW_TEXT_COUNT = 10
PROCESS_COUNT = 7

COLD_START = """
import json, re, sys
from time import perf_counter
marks = [perf_counter()]
mark = lambda: marks.append(perf_counter())
import numpy; mark()
import onnxruntime; mark()
import tokenizers; mark()
from pathlib import Path
from s3_agent_memory.embedding.onnx import OnnxEmbedder
embedder = OnnxEmbedder(Path(sys.argv[1])); mark()
embedder._load(); mark()
embedder.embed_query("Which allergies does Alice have?"); mark()
embedder.embed_query("Who moved to Porto?"); mark()
steps = ["import numpy", "import onnxruntime", "import tokenizers", "import adapter", "load model", "first text",
         "second text"]
times = {step: 1000 * (end - start) for step, start, end in zip(steps, marks, marks[1:])}
peak_kib = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
print(json.dumps({**times, "total to first text": 1000 * (marks[-2] - marks[0]), "peak memory": peak_kib / 1024}))
"""


def measure_cold_start(model: Path) -> dict[str, float]:
    """Return milliseconds of each step (and megabytes of memory), the median of several fresh processes."""
    command = [sys.executable, "-c", COLD_START, str(model)]
    runs = [
        json.loads(subprocess.run(command, cwd=ROOT, env=os.environ, check=True, capture_output=True, text=True).stdout)
        for _ in range(PROCESS_COUNT)
    ]
    return {name: median(run[name] for run in runs) for name in runs[0]}


def pieces(word_count: int) -> list[str]:
    """Return distinct texts of ``word_count`` words."""
    words = " ".join(topics[name] for name in sorted(topics)).split()
    return [" ".join(words[start : start + word_count]) for start in range(0, len(words) - word_count, word_count)]


def measure_texts(embedder: CheckedEmbedder, word_count: int) -> dict[str, float]:
    """Return the throughput of many texts and the latency of single ones."""
    texts = pieces(word_count)
    embedder.embed(texts[:8])
    singles = [_seconds(embedder, [text]) for text in islice(texts, LATENCY_COUNT)]
    batch_size = max(8, min(len(texts), round(SECONDS_OF_WORK / median(singles))))
    batch_texts = (texts * (1 + batch_size // len(texts)))[:batch_size]
    cpu_start = process_time()
    seconds = _seconds(embedder, batch_texts)
    return {
        "texts": batch_size,
        "texts/s": batch_size / seconds,
        "CPU ms": 1000 * (process_time() - cpu_start) / batch_size,
        "p50 ms": 1000 * median(singles),
        "p95 ms": 1000 * quantiles(singles, n=20)[-1],
    }


def measure_windows(embedder: CheckedEmbedder) -> dict[str, float]:
    """Return what a long memory costs that is covered by windows."""
    texts = pieces(WINDOW_TEXT_WORDS)[:WINDOW_TEXT_COUNT]
    start = process_time()
    windows = embed_windows(embedder, texts)
    seconds = process_time() - start
    return {"CPU ms": 1000 * seconds / len(texts), "windows/text": len(windows.owners) / len(texts)}


def _seconds(embedder: CheckedEmbedder, texts: list[str]) -> float:
    start = perf_counter()
    embedder.embed(texts)
    return perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="directory of a model (built if it is not given)")
    parser.add_argument("--layer", action="store_true", help="download the layer's packages and print their size")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here as well")
    options = parser.parse_args()
    model = options.model or build_model()
    embedder = adapt(OnnxEmbedder(model))
    report: dict[str, Any] = {"model": embedder.name}
    report["load average"] = os.getloadavg()[0]
    print(f"{embedder.name}, one thread; load of the machine {report['load average']:.1f}\n")

    report["cold start"] = measure_cold_start(model)
    print(f"cold start, median of {PROCESS_COUNT} processes")
    for name, value in report["cold start"].items():
        print(f"  {name:<20}{value:8.1f} {'MB' if name == 'peak memory' else 'ms'}")

    print(f"\n{'texts':<20}{'texts/s':>10}{'CPU ms':>10}{'p50 ms':>10}{'p95 ms':>10}")
    report["texts"] = {}
    for name, word_count in WORD_COUNTS.items():
        figures = report["texts"][name] = measure_texts(embedder, word_count)
        columns = "".join(f"{figures[column]:10.1f}" for column in ("texts/s", "CPU ms", "p50 ms", "p95 ms"))
        print(f"{name:<20}{columns}")

    report["windows"] = measure_windows(embedder)
    print(f"\n{WINDOW_TEXT_WORDS} words in {report['windows']['windows/text']:.0f} windows: ", end="")
    print(f"{report['windows']['CPU ms']:.0f} ms of processor time a text")

    if options.layer:
        report["layer"] = {architecture: dict(measure_layer(architecture)) for architecture in ARCHITECTURES}
        for architecture, sizes in report["layer"].items():
            parts = ", ".join(f"{name} {size_bytes / 1e6:.1f}" for name, size_bytes in sizes.items())
            print(f"layer for {architecture}: {sum(sizes.values()) / 1e6:.1f} MB unpacked ({parts})")
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
