"""The public keys of an identity provider: fetched, kept for a while, and fetched again only so often.

Whoever sends tokens with invented key ids must not make this process fetch all the time, and a provider that is down
for an hour must not lock everybody out.
"""

import threading
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any, Final, NoReturn
from urllib.error import URLError

from jwt import PyJWK
from jwt.exceptions import PyJWTError

from s3_agent_memory.domain.access import OidcSettings
from s3_agent_memory.domain.clock import Clock
from s3_agent_memory.domain.json_values import decode_json
from s3_agent_memory.errors import AuthenticationError, BackendError, ValidationError

FRESH_SECONDS: Final = 3_600.0
# Keys that could not be refreshed are used on for so long.
STALE_SECONDS: Final = 24 * 3_600.0
# At most one fetch in so many seconds, whatever tokens arrive.
REFRESH_PAUSE_SECONDS: Final = 30.0
TIMEOUT_SECONDS: Final = 3.0
DOCUMENT_BYTES_MAX: Final = 256 * 1024
KEY_COUNT_MAX: Final = 100
# Asymmetric only: a shared secret could be anybody's, and "none" is no signature.
ALGORITHMS: Final = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
_KEY_TYPES: Final = frozenset({"RSA", "EC", "OKP"})

Fetch = Callable[[str], bytes]


def _make_opener() -> urllib.request.OpenerDirector:
    """Return an opener that knows no proxies and follows no redirects: what it opens is what was set."""
    opener = urllib.request.OpenerDirector()
    for handler in ("HTTPHandler", "HTTPSHandler", "HTTPDefaultErrorHandler", "HTTPErrorProcessor"):
        opener.add_handler(getattr(urllib.request, handler)())
    return opener


_opener: Final = _make_opener()


def fetch(url: str) -> bytes:
    """Return the document at a URL.

    Raises:
        BackendError: it cannot be had within 3 seconds, or is too large.
    """
    try:
        # The settings allow https, and http on this machine only.
        with _opener.open(url, timeout=TIMEOUT_SECONDS) as response:
            body: bytes = response.read(DOCUMENT_BYTES_MAX + 1)
    except (URLError, OSError, ValueError, HTTPException) as error:
        raise BackendError("the identity provider does not answer") from error
    if len(body) > DOCUMENT_BYTES_MAX:
        raise BackendError("the identity provider answered with too large a document")
    return body


class KeySet:
    """The keys of one issuer. Safe for threads."""

    def __init__(self, settings: OidcSettings, *, clock: Clock, fetch: Fetch = fetch) -> None:
        self._settings = settings
        self._clock = clock
        self._fetch = fetch
        self._lock = threading.Lock()
        self._keys: Mapping[str, PyJWK] = {}
        self._fetched_at_s: float | None = None
        self._tried_at_s: float | None = None

    def key_for(self, key_id: str | None) -> PyJWK:
        """Return the key with an id; without an id, the only key there is.

        Raises:
            AuthenticationError: the issuer has no such key.
            BackendError: the keys could not be fetched.
        """
        with self._lock:
            if self._age_s() > FRESH_SECONDS or self._find(key_id) is None:
                self._refresh()
            key = self._find(key_id)
        if key is None:
            raise AuthenticationError("the token is signed with a key that its issuer does not have")
        return key

    def _find(self, key_id: str | None) -> PyJWK | None:
        if key_id is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(key_id)

    def _age_s(self) -> float:
        return float("inf") if self._fetched_at_s is None else self._clock.monotonic_s() - self._fetched_at_s

    def _refresh(self) -> None:
        now_s = self._clock.monotonic_s()
        if self._tried_at_s is not None and now_s - self._tried_at_s < REFRESH_PAUSE_SECONDS:
            self._require_usable()
            return
        self._tried_at_s = now_s
        try:
            self._keys = self._load()
        except BackendError:
            self._require_usable()
            return
        self._fetched_at_s = now_s

    def _require_usable(self) -> None:
        if self._age_s() > STALE_SECONDS:
            raise BackendError("the keys of the identity provider could not be fetched")

    def _load(self) -> dict[str, PyJWK]:
        document = _object(self._fetch(self._settings.jwks_url or self._discover()))
        listed = document.get("keys")
        if not isinstance(listed, list) or len(listed) > KEY_COUNT_MAX:
            _refuse_document()
        keys = [key for key in (_parse_key(item) for item in listed) if key is not None]
        return {key.key_id or "": key for key in keys}

    def _discover(self) -> str:
        issuer = self._settings.issuer
        document = _object(self._fetch(issuer.rstrip("/") + "/.well-known/openid-configuration"))
        url = document.get("jwks_uri")
        # A document of another issuer must not choose the keys of this one, and keys must not travel unguarded.
        is_own = document.get("issuer") == issuer
        if not is_own or not isinstance(url, str) or not url.startswith(("https://", issuer.rstrip("/") + "/")):
            _refuse_document()
        return url


def _object(body: bytes) -> dict[str, Any]:
    try:
        document = decode_json(body)
    except ValidationError:
        _refuse_document()
    return document if isinstance(document, dict) else _refuse_document()


def _refuse_document() -> NoReturn:
    raise BackendError("the identity provider answered with a document that cannot be used")


def _parse_key(item: object) -> PyJWK | None:
    """Return a key that may verify signatures, None for anything else: one odd key must not spoil the set."""
    if not isinstance(item, dict) or item.get("kty") not in _KEY_TYPES or item.get("use", "sig") != "sig":
        return None
    try:
        key = PyJWK.from_dict(item)
    except (PyJWTError, ValueError, TypeError):
        return None
    return key if key.algorithm_name in ALGORITHMS else None
