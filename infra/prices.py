"""Prices, and what one operation takes: read from the library's own data, so that nothing can say two things.

The files are data and not code of the library, which the infrastructure does not import. They say what AWS charged on
``AS_OF``; https://aws.amazon.com/pricing has what is charged today.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_FOLDER: Final = Path(__file__).resolve().parent.parent / "layers/memory/python/s3_agent_memory/domain/cost_data"
# Changes that the indexer folds together. Few namespaces are that busy; ``s3-agent-memory cost`` tells them apart.
_FOLD_SIZE: Final = 64


def _read(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((_FOLDER / name).read_text("utf-8"))
    return document


_LIST: Final = _read("prices.json")
_REQUESTS: Final = _read("requests.json")
_USD: Final[Mapping[str, float]] = {name: item["usd"] for name, item in _LIST["prices"].items()}

AS_OF: Final[str] = _LIST["as_of"]
API_REQUEST: Final = _USD["api_request"]
LAMBDA_REQUEST: Final = _USD["lambda_request"]
LAMBDA_GB_SECOND: Final = {name: _USD[f"lambda_gb_second_{name}"] for name in ("arm64", "x86_64")}
S3_PUT: Final = _USD["s3_put"]
S3_GET: Final = _USD["s3_get"]
SQS_REQUEST: Final = _USD["sqs_request"]


def _requests(name: str) -> float:
    """Return what the requests of one operation to S3 cost."""
    counts = _REQUESTS[name]
    return float(S3_PUT * (counts.get("put", 0) + counts.get("list", 0)) + S3_GET * counts.get("get", 0))


REMEMBER: Final = _requests("remember")
RECALL: Final = _requests("recall")
# What the index costs for each write: its share of a fold and of the embedder's look behind it, and its own reads.
FOLD: Final = (_requests("fold") + _requests("embedder_run")) / _FOLD_SIZE + _requests("fold_each")
