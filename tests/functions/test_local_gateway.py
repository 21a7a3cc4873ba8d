"""The gateway on one machine, spoken to over real sockets."""

import http.client
import json
import logging
import re
import socket
import threading
import time

import pytest

from functions import local_gateway
from functions.local_function import LocalFunction
from functions.local_gateway import LocalGateway
from s3_agent_memory.errors import BackendError


def echo(event, context):
    """Answer with what the function got to see."""
    seen = {name: event.get(name) for name in ("rawPath", "rawQueryString", "headers", "body", "isBase64Encoded")}
    seen["method"] = event["requestContext"]["http"]["method"]
    seen["grant"] = event["requestContext"]["authorizer"]["lambda"]
    return {"statusCode": 200, "headers": {"content-type": "application/json"}, "body": json.dumps(seen)}


def allow(event, context):
    assert "body" not in event
    return {"isAuthorized": True, "context": {"token": event["headers"].get("authorization", "none")}}


@pytest.fixture
def start():
    """Start a gateway in front of a handler; all are stopped at the end."""
    started = []

    def start_gateway(api=echo, authorizer=allow):
        functions = [
            LocalFunction(name, timeout_seconds=29, monotonic=time.monotonic, handler=handler)
            for name, handler in (("api", api), ("authorizer", authorizer))
        ]
        gateway = LocalGateway(0, api=functions[0], authorizer=functions[1], monotonic=time.monotonic)
        thread = threading.Thread(target=gateway.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        started.append((gateway, thread))
        return gateway

    yield start_gateway
    for gateway, thread in started:
        gateway.stop()
        thread.join()


@pytest.fixture
def connect(start):
    gateway = start()
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=10)
    yield connection
    connection.close()


def ask(connection, method="GET", target="/", *, body=None, headers=None):
    connection.request(method, target, body, headers or {})
    response = connection.getresponse()
    return response, response.read()


def speak(gateway, text: bytes) -> bytes:
    """Send raw bytes and return all that comes back until the server hangs up."""
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=10) as connection:
        connection.sendall(text)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while chunk := connection.recv(65_536):
            received += chunk
    return received


def test_a_request_becomes_an_event_with_decoded_path_and_raw_query(connect):
    _, body = ask(connect, "GET", "/v1/memories/a%40b?tag=a%2Cb&tag=c")
    seen = json.loads(body)
    assert (seen["method"], seen["rawPath"], seen["rawQueryString"]) == ("GET", "/v1/memories/a@b", "tag=a%2Cb&tag=c")


def test_the_authorizer_sees_the_headers_and_its_context_reaches_the_function(connect):
    _, body = ask(connect, headers={"Authorization": "Bearer x"})
    assert json.loads(body)["grant"] == {"token": "Bearer x"}


@pytest.mark.parametrize(("content_type", "is_base64"), [("application/json", False), ("application/x-ndjson", True)])
def test_a_body_is_text_or_base64_by_its_type(connect, content_type, is_base64):
    _, body = ask(connect, "POST", body=b'{"a": 1}', headers={"Content-Type": content_type})
    assert json.loads(body)["isBase64Encoded"] is is_base64


def test_a_connection_is_kept_for_the_next_request(connect):
    first = ask(connect)
    local_port = connect.sock.getsockname()[1]
    second = ask(connect, "POST", body=b"{}")
    assert (first[0].status, second[0].status, connect.sock.getsockname()[1]) == (200, 200, local_port)


def test_head_has_no_body_and_leaves_the_connection_usable(connect):
    response, body = ask(connect, "HEAD")
    assert (response.status, body, ask(connect)[0].status) == (200, b"", 200)


@pytest.mark.parametrize("method", ["PATCH", "OPTIONS", "PROPFIND", "TRACE"])
def test_any_verb_reaches_the_function(connect, method):
    _, body = ask(connect, method)
    assert json.loads(body)["method"] == method


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "localhost.evil.example:{port}", "127.0.0.1", "", "127.0.0.1:1"]
)
def test_a_foreign_host_is_refused(start, host):
    gateway = start()
    received = speak(gateway, f"GET / HTTP/1.1\r\nHost: {host.format(port=gateway.port)}\r\n\r\n".encode())
    assert received.startswith(b"HTTP/1.1 421 ")
    assert b"misdirected_request" in received


@pytest.mark.parametrize("hosts", ["", "Host: localhost:{port}\r\nHost: evil.example\r\n"])
def test_no_host_or_two_are_refused(start, hosts):
    gateway = start()
    received = speak(gateway, f"GET / HTTP/1.1\r\n{hosts.format(port=gateway.port)}\r\n".encode())
    assert received.startswith(b"HTTP/1.1 421 ")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST"])
def test_the_names_of_this_machine_are_accepted(start, host):
    gateway = start()
    received = speak(gateway, f"GET / HTTP/1.1\r\nHost: {host}:{gateway.port}\r\n\r\n".encode())
    assert received.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ("Transfer-Encoding: chunked\r\n", 411, "length_required"),
        ("Content-Length: -1\r\n", 400, "validation"),
        ("Content-Length: 1\r\nContent-Length: 2\r\n", 400, "validation"),
        ("Content-Length: five\r\n", 400, "validation"),
        ("Content-Length: +5\r\n", 400, "validation"),
        ("Content-Length: \u0665\r\n", 400, "validation"),
        (f"Content-Length: {local_gateway.BODY_BYTES_MAX + 1}\r\n", 413, "body_too_large"),
        ("Content-Length: 10\r\n", 400, "validation"),
    ],
)
def test_a_body_that_cannot_be_read_is_a_problem_and_ends_the_connection(start, headers, status, code):
    gateway = start()
    request = f"POST / HTTP/1.1\r\nHost: localhost:{gateway.port}\r\n{headers}\r\nabc"
    head, _, body = speak(gateway, request.encode()).partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode())
    assert (b"connection: close" in head.lower(), json.loads(body)["code"]) == (True, code)


@pytest.mark.parametrize(
    ("length", "status"),
    [
        (str(local_gateway.BODY_BYTES_MAX + 1), 413),
        ("9" * 15, 413),
        (f"{local_gateway.BODY_BYTES_MAX + 1:020}", 400),
        ("9" * 16, 400),
        ("0" * 5_000, 400),
    ],
)
def test_a_length_that_is_refused_is_refused_before_the_body_comes(start, length, status):
    gateway = start()
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=10) as connection:
        head = f"POST / HTTP/1.1\r\nHost: localhost:{gateway.port}\r\nContent-Length: {length}\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.recv(65_536).startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize(("length", "status"), [("2", 100), (str(local_gateway.BODY_BYTES_MAX + 1), 413)])
def test_a_client_that_asks_whether_to_go_on_is_told_by_the_length(start, length, status):
    gateway = start()
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=10) as connection:
        head = f"POST / HTTP/1.1\r\nHost: localhost:{gateway.port}\r\nContent-Length: {length}\r\n"
        connection.sendall(head.encode() + b"Expect: 100-continue\r\n\r\n")
        assert connection.recv(65_536).startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize("target", ["http://[::1/healthz", "http://[x]/"])
def test_a_target_that_is_no_url_is_a_problem(start, target):
    gateway = start()
    received = speak(gateway, f"GET {target} HTTP/1.1\r\nHost: localhost:{gateway.port}\r\n\r\n".encode())
    head, _, body = received.partition(b"\r\n\r\n")
    assert (head.split()[1], json.loads(body)["code"]) == (b"400", "validation")


def test_a_whole_url_as_a_target_is_its_path(start):
    gateway = start()
    head = f"GET http://localhost:{gateway.port}/a?b HTTP/1.1\r\nHost: localhost:{gateway.port}\r\n\r\n"
    seen = json.loads(speak(gateway, head.encode()).partition(b"\r\n\r\n")[2])
    assert (seen["rawPath"], seen["rawQueryString"]) == ("/a", "b")


@pytest.mark.parametrize(
    ("line", "logged"),
    [
        ("GET /v1/memories/a%20b?tag=MARKER#MARKER HTTP/1.1", "GET /v1/memories/a%20b 200"),
        ("POST http://MARKER@localhost/ HTTP/1.1", "POST - 200"),
        ("\x1b[31mGET /\x1b[31m\u00fc HTTP/1.1", "%1B[31mGET /%1B[31m%C3%BC 200"),
        ("GET http://[::1/MARKER HTTP/1.1", "GET - 400"),
        ("MARKER", "- - 400"),
    ],
)
def test_the_access_log_has_one_printable_line_without_query_and_credentials(start, caplog, line, logged):
    caplog.set_level(logging.INFO, logger="functions.access")
    gateway = start()
    speak(gateway, f"{line}\r\nHost: localhost:{gateway.port}\r\n\r\n".encode("latin-1"))
    (message,) = [record.getMessage() for record in caplog.records if record.name == "functions.access"]
    assert re.fullmatch(rf"{re.escape(logged)} \d+\.\d ms", message), message


def test_a_long_target_is_cut_in_the_access_log(start, caplog):
    caplog.set_level(logging.INFO, logger="functions.access")
    gateway = start()
    speak(gateway, f"GET /{'x' * 60_000} HTTP/1.1\r\nHost: localhost:{gateway.port}\r\n\r\n".encode())
    assert len(caplog.messages[0]) < 1_000


def test_a_refusal_of_the_gateway_ends_its_line(start):
    received = speak(start(), b"nonsense\r\n\r\n")
    assert received.endswith(b"}\n")


def test_what_is_no_http_is_a_problem(start):
    received = speak(start(), b"\x16\x03\x01 nonsense that is long enough to be a request line\r\n\r\n")
    assert b" 400 " in received


def test_a_request_that_does_not_come_in_time_is_given_up(start, monkeypatch):
    monkeypatch.setattr(local_gateway, "REQUEST_SECONDS_MAX", 0.05)
    gateway = start()
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=10) as connection:
        connection.sendall(f"POST / HTTP/1.1\r\nHost: localhost:{gateway.port}\r\nContent-Length: 9\r\n\r\nab".encode())
        assert connection.recv(65_536).startswith(b"HTTP/1.1 408 ")


def test_a_head_that_does_not_come_in_time_is_given_up_in_silence(start, monkeypatch):
    monkeypatch.setattr(local_gateway, "REQUEST_SECONDS_MAX", 0.05)
    with socket.create_connection(("127.0.0.1", start().port), timeout=10) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: loc")
        assert connection.recv(65_536) == b""


def test_a_function_that_raises_is_an_internal_problem_without_its_text(start):
    def fail(event, context):
        raise RuntimeError("MARKER")

    gateway = start(api=fail)
    received = speak(gateway, f"GET / HTTP/1.1\r\nHost: localhost:{gateway.port}\r\n\r\n".encode())
    assert received.startswith(b"HTTP/1.1 500 ")
    assert b"MARKER" not in received


def test_a_token_that_could_not_be_checked_is_503(start):
    def fail(event, context):
        raise BackendError("the storage is down")

    gateway = start(authorizer=fail)
    received = speak(gateway, f"GET / HTTP/1.1\r\nHost: localhost:{gateway.port}\r\n\r\n".encode())
    assert received.startswith(b"HTTP/1.1 503 ")


def test_an_authorizer_that_refuses_is_403(start):
    gateway = start(authorizer=lambda *_: {"isAuthorized": False})
    received = speak(gateway, f"GET / HTTP/1.1\r\nHost: localhost:{gateway.port}\r\n\r\n".encode())
    assert received.startswith(b"HTTP/1.1 403 ")


def test_stopping_answers_what_is_being_worked_on_and_hangs_up_on_idle_connections(start):
    entered, release = threading.Event(), threading.Event()

    def slow(event, context):
        entered.set()
        assert release.wait(10)
        return {"statusCode": 200, "body": "done"}

    gateway = start(api=slow)
    busy = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=10)
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=10) as idle:
        busy.request("GET", "/")
        assert entered.wait(10)
        stopping = threading.Thread(target=gateway.stop)
        stopping.start()
        hung_up = idle.recv(1)
        release.set()
        answer = busy.getresponse().read()
        stopping.join(10)
    assert (hung_up, answer, stopping.is_alive()) == (b"", b"done", False)
    busy.close()
