"""Where a request says it comes from: the ``Host`` it was sent to and the ``Origin`` of the page that sent it.

A page of a foreign site can make a browser call this machine under the site's own name (DNS rebinding). So a deployment
answers only under the names it is reached by, and one on this machine only to pages of this machine. On the internet
any page may call: without a token, which no browser adds by itself, it gets nothing.
"""

from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

from s3_agent_memory.domain.access import AccessSettings, is_loopback
from s3_agent_memory.edge.mcp.messages import RefusedError


def check_host(headers: Mapping[str, str], access: AccessSettings) -> None:
    """Refuse a request that was sent to another name.

    Raises:
        RefusedError: with status 421.
    """
    if access.public_url is None:
        return
    host = headers.get("host", "").lower().removesuffix(":443")
    own = urlsplit(access.public_url)
    is_own = host == own.netloc.lower() or host in access.allowed_hosts
    if not is_own and not (is_loopback(own.hostname or "") and _is_loopback_host(host, own.port)):
        raise RefusedError(HTTPStatus.MISDIRECTED_REQUEST, "This host is not served here")


def check_origin(headers: Mapping[str, str], access: AccessSettings) -> None:
    """Refuse a page that may not call.

    Raises:
        RefusedError: with status 403.
    """
    origin = headers.get("origin")
    if origin is None or origin in access.allowed_origins or origin == access.public_url:
        return
    is_local = access.public_url is not None and is_loopback(urlsplit(access.public_url).hostname or "")
    if access.allowed_origins or (is_local and not _is_loopback_origin(origin)):
        raise RefusedError(HTTPStatus.FORBIDDEN, "This origin may not call")


def _is_loopback_host(host: str, port: int | None) -> bool:
    try:
        parts = urlsplit(f"//{host}")
        return is_loopback(parts.hostname or "") and parts.port == port and "@" not in host
    except ValueError:
        return False


def _is_loopback_origin(origin: str) -> bool:
    try:
        parts = urlsplit(origin)
        # Only when it is asked for, what is no port is noticed.
        return is_loopback(parts.hostname or "") and parts.port != 0
    except ValueError:
        return False
