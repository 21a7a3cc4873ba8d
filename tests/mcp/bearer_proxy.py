"""A proxy that adds a token to every request, for clients that cannot be given one.

Everything else passes as it is, above all ``Host`` and ``Origin``; only the proxy's own address becomes the upstream's.
"""

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 30
_HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "date", "server"}


class BearerProxy(ThreadingHTTPServer):
    """Listens on a free port of the loopback address.

    Example:
        with BearerProxy("http://127.0.0.1:8787", token) as proxy:
            ask(proxy.url + "/mcp")
    """

    daemon_threads = True

    def __init__(self, upstream: str, token: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = urlsplit(upstream).netloc
        self.token = token
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,))

    @property
    def netloc(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    @property
    def url(self) -> str:
        return f"http://{self.netloc}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing about a client that went away."""

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: BearerProxy

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        connection = http.client.HTTPConnection(self.server.upstream, timeout=TIMEOUT_SECONDS)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in _HOP_BY_HOP:
                    connection.putheader(name, self._own_to_upstream(name, value))
            connection.putheader("Authorization", f"Bearer {self.server.token}")
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            self._pass_back(connection.getresponse())
        finally:
            connection.close()

    do_GET = do_DELETE = do_OPTIONS = do_HEAD = do_POST  # noqa: N815  # Names of the base class.

    def _own_to_upstream(self, name: str, value: str) -> str:
        own = {self.server.netloc, self.server.netloc.replace("127.0.0.1", "localhost")}
        return self.server.upstream if name.lower() == "host" and value in own else value

    def _pass_back(self, response: http.client.HTTPResponse) -> None:
        body = response.read()
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in _HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""
