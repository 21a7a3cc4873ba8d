"""What a deployment costs a month: usage times dated prices."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from s3_agent_memory.domain.pricing import (
    Compute,
    PriceList,
    S3Requests,
    load_compute,
    load_prices,
    load_requests,
)
from s3_agent_memory.domain.usage import Usage, UsageModel
from s3_agent_memory.domain.workload import Workload

_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """One line of a bill, in US dollars; ``net_usd`` is after what every account gets for ever."""

    part: str
    service: str
    item: str
    quantity: float
    usd: float
    net_usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitCost:
    """US dollars for a million of one operation.

    Attributes:
        own_usd: requests to S3 and Lambda of the operation itself.
        index_usd: S3 and Lambda of indexer and embedder behind it.
        other_usd: API Gateway, authorizer, queue, logs and traces.
    """

    own_usd: float
    index_usd: float
    other_usd: float

    @property
    def total_usd(self) -> float:
        """All of it."""
        return self.own_usd + self.index_usd + self.other_usd


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A month's bill, and what a million of each operation costs at the same rates."""

    lines: tuple[CostLine, ...]
    per_million: Mapping[str, UnitCost]

    @property
    def total_usd(self) -> float:
        """At list prices."""
        return sum(line.usd for line in self.lines)

    @property
    def net_total_usd(self) -> float:
        """After what every account gets for ever, if no other stack uses it up."""
        return sum(line.net_usd for line in self.lines)


def estimate(
    workload: Workload,
    *,
    prices: PriceList | None = None,
    requests: Mapping[str, S3Requests] | None = None,
    compute: Compute | None = None,
) -> Estimate:
    """Return what a month of this work costs; the data are those that come with the library unless others are given.

    Example:
        >>> idle = Workload(recalls=0, writes=0, memories=0, has_snapshots=False, poller_count=2)
        >>> round(estimate(idle).net_total_usd, 2)
        0.0
    """
    prices = prices or load_prices()
    model = UsageModel(workload, requests or load_requests(), compute or load_compute())
    return Estimate(
        lines=tuple(_priced(model.month(), prices)),
        per_million={
            "remember": _unit_cost(model.writing("remember", _MILLION), prices),
            "update": _unit_cost(model.writing("update", _MILLION), prices),
            "recall": _unit_cost([*model.recalling(_MILLION), *model.edge(_MILLION)], prices),
        },
    )


def _priced(usages: Iterable[Usage], prices: PriceList) -> Iterator[CostLine]:
    """Yield a line for each part, service and item; what is free is spread over all that would use it."""
    merged: dict[tuple[str, str, str, str, str], float] = {}
    wanted: dict[str, float] = {}
    for usage in usages:
        key = (usage.part, usage.service, usage.item, usage.price, usage.free)
        merged[key] = merged.get(key, 0.0) + usage.quantity
        wanted[usage.free] = wanted.get(usage.free, 0.0) + usage.quantity
    for (part, service, item, price, free), quantity in merged.items():
        usd = quantity * prices.usd[price]
        paid_share = max(0.0, 1 - prices.always_free.get(free, 0.0) / wanted[free]) if wanted[free] else 0.0
        yield CostLine(
            part=part, service=service, item=item, quantity=quantity, usd=usd, net_usd=usd * paid_share if free else usd
        )


def _unit_cost(usages: Iterable[Usage], prices: PriceList) -> UnitCost:
    own = index = other = 0.0
    for line in _priced(usages, prices):
        if line.part == "index":
            index += line.usd
        elif line.part == "edge":
            other += line.usd
        else:
            own += line.usd
    return UnitCost(own_usd=own, index_usd=index, other_usd=other)
