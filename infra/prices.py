"""Prices: what AWS charged in us-east-1 at the time of ``AS_OF``, in US dollars, free tiers left out.

They are for estimates: https://aws.amazon.com/pricing has what is charged today.
"""

from typing import Final

AS_OF: Final = "2026-11"

API_REQUEST: Final = 1.00e-6
LAMBDA_REQUEST: Final = 0.20e-6
LAMBDA_GB_SECOND: Final = {"arm64": 1.33334e-5, "x86_64": 1.66667e-5}
S3_PUT: Final = 5.00e-6
S3_GET: Final = 0.40e-6
SQS_REQUEST: Final = 0.40e-6

# Requests to S3 that one operation takes (README, "What it costs").
REMEMBER: Final = 2 * S3_PUT
RECALL: Final = S3_PUT + 11 * S3_GET
# What the index costs for each write: folding 64 at a time, and listing versions to delete for good what was folded.
FOLD: Final = (196 * S3_GET + 5 * S3_PUT) / 64
