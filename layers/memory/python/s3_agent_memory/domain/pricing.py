"""Dated data that costs are worked out from: prices, counted requests, measured durations.

The files lie beside this module, in ``cost_data``. The infrastructure reads the same ones, so its dashboard, the
documentation and the command line cannot disagree.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from s3_agent_memory.domain.json_values import decode_json

# Lambda gives one whole processor from here on, and a share of it in proportion below.
# https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
ONE_PROCESSOR_MB: Final = 1_769
_FOLDER: Final = "cost_data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """What something else costs a month at the least, in US dollars.

    Attributes:
        evidence: who said so: ``seller``, or ``third party`` where the seller's own figures could not be read.
    """

    name: str
    floor_usd: float
    what: str
    source: str
    read_in: str
    evidence: str
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """Prices in US dollars of one region on one day.

    Attributes:
        usd: price of one unit, by its name in the file.
        always_free: units a month that every account gets for ever.
        alternatives: what something else costs.
    """

    as_of: str
    region: str
    usd: Mapping[str, float]
    always_free: Mapping[str, float]
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Requests:
    """Requests to S3, by what they are billed as; deletions cost nothing."""

    put: float = 0.0
    list: float = 0.0
    get: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """How long one operation keeps a function busy: computing, and waiting for S3 as modelled.

    Attributes:
        compute_ms: with the share of a processor that the function's memory brings.
    """

    compute_ms: float
    wait_ms: float

    @property
    def total_ms(self) -> float:
        """What Lambda bills."""
        return self.compute_ms + self.wait_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """Measured durations.

    Attributes:
        memory_mb: of each function, by its name.
        durations: of each operation, by the names of function and operation.
    """

    measured_at: str
    machine: str
    memory_mb: Mapping[str, int]
    durations: Mapping[str, Mapping[str, Duration]]


@cache
def load_prices() -> PriceList:
    """Return the prices that come with this version of the library."""
    document = _read("prices.json")
    return PriceList(
        as_of=document["as_of"],
        region=document["region"],
        usd={name: item["usd"] for name, item in document["prices"].items()},
        always_free={name: item["quantity"] for name, item in document["always_free"].items()},
        alternatives=tuple(Alternative(**item) for item in document["alternatives"]),
    )


@cache
def load_requests() -> Mapping[str, S3Requests]:
    """Return the requests that each operation takes, as counted."""
    document = _read("requests.json")
    return {name: S3Requests(**item) for name, item in document.items() if isinstance(item, dict)}


@cache
def load_compute() -> Compute:
    """Return the durations measured last."""
    document = _read("compute.json")
    functions = document["functions"]
    return Compute(
        measured_at=document["measured_at"],
        machine=document["machine"],
        memory_mb={name: item["memory_mb"] for name, item in functions.items()},
        durations={
            name: {
                operation: _duration(spent, memory_mb=item["memory_mb"])
                for operation, spent in item["operations"].items()
            }
            for name, item in functions.items()
        },
    )


def _duration(spent: Mapping[str, float], *, memory_mb: int) -> Duration:
    """Return what an operation takes; it was measured with a whole processor, and computes on one thread."""
    slowdown = max(1.0, ONE_PROCESSOR_MB / memory_mb)
    return Duration(compute_ms=spent["compute_ms"] * slowdown, wait_ms=spent["wait_ms"])


def _read(name: str) -> dict[str, Any]:
    body = files("s3_agent_memory.domain").joinpath(_FOLDER, name).read_bytes()
    document: Any = decode_json(body)
    checked: dict[str, Any] = document
    return checked
