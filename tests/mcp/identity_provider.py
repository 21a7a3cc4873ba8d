"""A small OpenID Connect provider on this machine: real keys, real signatures, real HTTP, and the flow with PKCE."""

import base64
import hashlib
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

CLIENT_ID = "public-client"


class SigningKey:
    """A private key with the id and the algorithm it signs with."""

    def __init__(self, key_id, algorithm):
        self.id, self.algorithm = key_id, algorithm
        self.private: Any
        if algorithm.startswith(("RS", "PS")):
            self.private = rsa.generate_private_key(65_537, 2_048)
            described = RSAAlgorithm.to_jwk(self.private.public_key(), as_dict=True)
        else:
            self.private = ec.generate_private_key(ec.SECP256R1())
            described = ECAlgorithm.to_jwk(self.private.public_key(), as_dict=True)
        self.public = described | {"kid": key_id, "use": "sig"}

    def sign(self, claims, **headers):
        return jwt.encode(claims, self.private, algorithm=self.algorithm, headers={"kid": self.id, **headers})


class IdentityProvider(ThreadingHTTPServer):
    """Listens on a free port of the loopback address.

    Attributes:
        keys: those in the key set.
        requests: paths that were asked for.
        is_down: answer everything with 503.
        documents, redirects: what to answer instead, by path.
        sub: who logs in at the authorization endpoint.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.keys = [SigningKey("rsa-1", "RS256"), SigningKey("ec-1", "ES256")]
        self.requests = []
        self.is_down = False
        self.sub = "auth0|alice"
        self.audience = "https://memory.example.com/mcp"
        self.documents = {}
        self.redirects = {}
        self.codes = {}
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,))

    @property
    def issuer(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def claims(self, now_s=None, **changes):
        now_s = int(time.time()) if now_s is None else now_s
        claims = {
            "iss": self.issuer,
            "aud": self.audience,
            "sub": "auth0|alice",
            "iat": now_s,
            "exp": now_s + 600,
            "scope": "memory:read memory:write",
        } | changes
        return {name: value for name, value in claims.items() if value is not None}

    def token(self, *, key=None, **changes):
        return (key or self.keys[0]).sign(self.claims(**changes))

    def document(self, path):
        if path in self.documents:
            return self.documents[path]
        if path == "/.well-known/openid-configuration":
            return {"issuer": self.issuer, "jwks_uri": self.issuer + "/keys"}
        return {"keys": [key.public for key in self.keys]} if path == "/keys" else None

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: IdentityProvider

    def do_GET(self):
        parts = urlsplit(self.path)
        self.server.requests.append(parts.path)
        if self.server.is_down:
            self._answer(503, b"")
        elif parts.path in self.server.redirects:
            self._answer(302, b"", location=self.server.redirects[parts.path])
        elif parts.path == "/authorize":
            self._authorize({name: values[0] for name, values in parse_qs(parts.query).items()})
        else:
            document = self.server.document(parts.path)
            body = document if isinstance(document, bytes) else json.dumps(document).encode()
            self._answer(404 if document is None else 200, body)

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        form = {name: values[0] for name, values in parse_qs(self.rfile.read(length).decode()).items()}
        self.server.requests.append(self.path)
        asked = self.server.codes.pop(form.get("code"), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or asked["code_challenge"] != challenge or asked["redirect_uri"] != form["redirect_uri"]:
            self._answer(400, b'{"error": "invalid_grant"}')
            return
        token = self.server.token(sub=self.server.sub, aud=asked["resource"], scope=asked["scope"])
        document = {"access_token": token, "token_type": "Bearer", "expires_in": 600, "scope": asked["scope"]}
        self._answer(200, json.dumps(document).encode())

    def _authorize(self, asked):
        # Whoever comes is logged in already.
        if asked["client_id"] != CLIENT_ID or asked["code_challenge_method"] != "S256":
            self._answer(400, b"{}")
            return
        code = secrets.token_hex(16)
        self.server.codes[code] = asked
        location = asked["redirect_uri"] + "?" + urlencode({"code": code, "state": asked["state"]})
        self._answer(302, b"", location=location)

    def _answer(self, status, body, *, location=None):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if location is not None:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""
