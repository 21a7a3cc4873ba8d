"""Routes of the API: which function answers what, and when a token is looked at.

API Gateway takes the most specific route that matches. What matches none goes to the function behind ``$default`` with
a token, and that function says "no such route" or "not with this method" in its own words.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from infra import names


class TokenCheck(Enum):
    """When the authorizer is asked.

    Attributes:
        NEVER: the route is public.
        REMEMBERED: once for a token and a while; API Gateway itself refuses a request without one.
        ALWAYS: for every request, also one without a token, so that the function can say where to get one.
    """

    NEVER = "never"
    REMEMBERED = "remembered"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class ApiRoute:
    """One route.

    Attributes:
        method: as API Gateway writes it.
        path: with ``{name}`` for one segment and ``{name+}`` for any number of them.
        function: name of the function that answers.
        token_check: when the authorizer is asked.
    """

    method: str
    path: str
    function: str = "http_api"
    token_check: TokenCheck = TokenCheck.REMEMBERED


RECALL: Final = ApiRoute("POST", "/v1/memories/search")
REMEMBER: Final = ApiRoute("POST", "/v1/memories")
_PUBLIC_PATHS: Final = ("/", "/healthz", "/readyz", "/openapi.json")

_HTTP_ROUTES: Final = (
    RECALL,
    REMEMBER,
    ApiRoute("GET", "/v1/memories"),
    ApiRoute("POST", "/v1/memories/batch"),
    ApiRoute("GET", "/v1/memories/{memory_id}"),
    ApiRoute("PATCH", "/v1/memories/{memory_id}"),
    ApiRoute("DELETE", "/v1/memories/{memory_id}"),
    *(ApiRoute("POST", f"/v1/{operation}") for operation in ("recall", "list", "write", "forget")),
    ApiRoute("POST", "/v1/memories/{memory_id}/supersede"),
    ApiRoute("GET", "/v1/memories/{memory_id}/history"),
    ApiRoute("POST", "/v1/erasures"),
    ApiRoute("GET", "/v1/erasures/{erasure_id}"),
    ApiRoute("GET", "/v1/export"),
    ApiRoute("POST", "/v1/import"),
    ApiRoute("POST", "/v1/consolidations"),
    ApiRoute("GET", "/v1/consolidations/{run_id}"),
    ApiRoute("POST", "/v1/consolidations/{run_id}/undo"),
    ApiRoute("GET", "/v1/events"),
    ApiRoute("GET", "/v1/stats"),
    ApiRoute("GET", "/v1/namespaces"),
    *(ApiRoute(method, path, token_check=TokenCheck.NEVER) for path in _PUBLIC_PATHS for method in ("GET", "HEAD")),
    # A browser asks without its token whether it may ask with it.
    ApiRoute("OPTIONS", "/{proxy+}", token_check=TokenCheck.NEVER),
)
# The function decides about methods itself: some clients try GET and DELETE, and must be told.
_MCP_ROUTES: Final = (
    ApiRoute("ANY", names.MCP_PATH, "mcp_endpoint", TokenCheck.ALWAYS),
    ApiRoute("OPTIONS", names.MCP_PATH, "mcp_endpoint", TokenCheck.NEVER),
    ApiRoute("ANY", names.WELL_KNOWN_PREFIX + "{proxy+}", "mcp_endpoint", TokenCheck.NEVER),
    ApiRoute("ANY", names.REGISTRATION_PATH, "mcp_endpoint", TokenCheck.NEVER),
)
ROUTES: Final = (*_HTTP_ROUTES, *_MCP_ROUTES)
DEFAULT_FUNCTION: Final = "http_api"

# What a browser may send and see, as the functions themselves say it where no gateway is before them.
CORS_ALLOW_HEADERS: Final = (
    "authorization",
    "content-type",
    "accept",
    "if-match",
    "if-none-match",
    "mcp-protocol-version",
    "mcp-session-id",
    "mcp-method",
    "mcp-name",
    "last-event-id",
)
CORS_ALLOW_METHODS: Final = ("GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS")
CORS_EXPOSE_HEADERS: Final = (
    "etag",
    "link",
    "location",
    "mcp-session-id",
    "retry-after",
    "www-authenticate",
    "x-corrupt-keys",
)
CORS_MAX_AGE_SECONDS: Final = 86_400
