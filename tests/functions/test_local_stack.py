"""The local stack as a process of its own, as a person starts it."""

import hashlib
import json
import signal
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from functions.local_stack import LocalSettings
from tests.functions.stack_process import run_to_its_end, wait_until

SECRET = "MARKER-TEXT-OF-A-MEMORY"


def test_a_memory_is_found_at_once_and_indexed_in_the_background(start_stack):
    stack = start_stack()
    status, answer = stack.send("POST", "/v1/memories", {"content": "Alice prefers metric units"})
    _, found = stack.send("POST", "/v1/memories/search", {"query": "which units?"})
    assert (status, [hit["memory"] for hit in found["hits"]]) == (201, [answer["memory"]])
    assert wait_until(lambda: stack.send("GET", "/v1/stats")[1]["segments"] == 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_cleanly_and_what_was_pending_is_indexed(start_stack, number):
    stack = start_stack(INDEX_WINDOW_SECONDS="600")
    stack.send("POST", "/v1/memories", {"content": "green tea"})
    assert stack.stop(number) == 0
    again = start_stack()
    assert again.send("GET", "/v1/stats")[1]["segments"] == 1
    assert len(again.send("POST", "/v1/memories/search", {"query": "tea"})[1]["hits"]) == 1


def test_the_token_is_the_owners_alone_and_is_used_again(start_stack):
    first = start_stack()
    path = first.folder / ".agent-memory" / "token"
    token, mode = first.token, stat.S_IMODE(path.stat().st_mode)
    first.stop()
    second = start_stack()
    assert (second.token, mode) == (token, 0o600)
    assert ("new;" in first.banner, "as before;" in second.banner) == (True, True)


def test_a_token_that_is_not_valid_any_more_is_replaced(start_stack):
    first = start_stack()
    first.stop()
    (first.folder / ".agent-memory" / "token").write_text("sam_" + "0" * 64)
    assert start_stack().send("GET", "/v1/stats")[0] == 200


def test_a_foreign_host_is_refused(start_stack):
    stack = start_stack()
    status, problem = stack.send("GET", "/v1/stats", headers={"Host": "evil.example"})
    assert (status, problem["code"]) == (421, "misdirected_request")


def test_expired_memories_are_pruned_on_schedule(start_stack):
    stack = start_stack(PRUNE_INTERVAL_SECONDS="0.2")
    _, answer = stack.send("POST", "/v1/memories", {"content": "short-lived", "ttl": 0.000001})
    path = stack.folder / ".agent-memory" / answer["key"]
    assert wait_until(lambda: not path.exists())


def test_concurrent_writers_lose_nothing(start_stack):
    stack = start_stack()
    with ThreadPoolExecutor(20) as pool:
        bodies = [{"content": f"tea number {number}"} for number in range(20)]
        statuses = list(pool.map(lambda body: stack.send("POST", "/v1/memories", body)[0], bodies))
    _, found = stack.send("POST", "/v1/memories/search", {"query": "tea", "limit": 100})
    assert (set(statuses), len(found["hits"])) == ({201}, 20)


def test_neither_texts_nor_tokens_are_logged(start_stack):
    stack = start_stack(POWERTOOLS_LOG_LEVEL="DEBUG", PRUNE_INTERVAL_SECONDS="0.2", SWEEP_INTERVAL_SECONDS="0.2")
    _, answer = stack.send("POST", "/v1/memories", {"content": SECRET, "tags": [SECRET], "data": {"x": SECRET}})
    stack.send("POST", "/v1/memories/search", {"query": SECRET})
    stack.send("POST", "/v1/memories", {"content": [SECRET]})
    stack.send("DELETE", f"/v1/memories/{answer['memory']['id']}?reason={SECRET}")
    assert wait_until(lambda: "namespaces swept" in stack.log_path.read_text())
    token = stack.token
    assert stack.stop() == 0
    log = stack.log_path.read_text()
    assert "request answered" in log
    assert (SECRET in log, token in log, token in stack.banner) == (False, False, False)


def test_a_store_in_memory_is_shared_by_all_functions(start_stack):
    stack = start_stack(S3_AGENT_MEMORY_URL="memory://")
    assert stack.send("POST", "/v1/memories", {"content": "green tea"})[0] == 201
    assert wait_until(lambda: stack.send("GET", "/v1/stats")[1]["segments"] == 1)


def test_a_port_in_use_is_a_clear_message_and_exit_code_2(start_stack, tmp_path):
    port = start_stack().url.rpartition(":")[2]
    result = run_to_its_end(tmp_path, PORT=port)
    assert (result.returncode, "Traceback" in result.stderr) == (2, False)
    assert "choose another one with PORT=" in result.stderr


@pytest.mark.parametrize("name", ["PRUNE_INTERVAL_SECONDS", "SWEEP_INTERVAL_SECONDS", "INDEX_WINDOW_SECONDS"])
@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-1", "1e300", "soon"])
def test_seconds_that_are_nonsense_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a number of seconds from "):
        LocalSettings.from_environment({name: value})


@pytest.mark.parametrize("name", ["PRUNE_INTERVAL_SECONDS", "SWEEP_INTERVAL_SECONDS"])
@pytest.mark.parametrize("value", ["0", "0.0", "1e-9"])
def test_a_schedule_without_a_pause_is_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a number of seconds from 0.1 to 31536000"):
        LocalSettings.from_environment({name: value})


@pytest.mark.parametrize("value", ["http", "70000", "-1", "nan", "80.5", "1" * 5_000])
def test_a_port_that_is_nonsense_is_refused(value):
    with pytest.raises(ValueError, match="PORT must be a whole number from 0 to 65535"):
        LocalSettings.from_environment({"PORT": value})


def test_settings_that_are_empty_are_the_usual_ones():
    assert LocalSettings.from_environment({"PORT": "", "PRUNE_INTERVAL_SECONDS": ""}) == LocalSettings()


def test_a_setting_that_is_nonsense_is_a_clear_message_and_exit_code_2(tmp_path):
    result = run_to_its_end(tmp_path, PORT="0", SWEEP_INTERVAL_SECONDS="0")
    assert (result.returncode, "Traceback" in result.stderr) == (2, False)
    assert result.stderr.startswith("error: SWEEP_INTERVAL_SECONDS must be")


@pytest.mark.parametrize("url", ["http://x", "file://", "nonsense"])
def test_a_store_url_of_no_known_form_is_exit_code_2_and_says_what_is_allowed(tmp_path, url):
    result = run_to_its_end(tmp_path, PORT="0", S3_AGENT_MEMORY_URL=url)
    assert (result.returncode, "Traceback" in result.stderr) == (2, False)
    assert ("s3://bucket" in result.stderr, "file://" in result.stderr) == (True, True)


def test_the_token_lies_in_the_directory_of_the_store_however_it_is_written(start_stack, tmp_path):
    stack = start_stack(S3_AGENT_MEMORY_URL="file://~/my mem%20#1", HOME=str(tmp_path))
    _, answer = stack.send("POST", "/v1/memories", {"content": "x"})
    directory = tmp_path / "my mem%20#1"
    assert (stack.token_path, (directory / answer["key"]).exists()) == (directory / "token", True)


def test_a_store_that_is_no_directory_has_a_token_file_of_its_own(start_stack):
    stack = start_stack(S3_AGENT_MEMORY_URL="memory://other")
    digest = hashlib.sha256(b"memory://other").hexdigest()
    assert stack.token_path == stack.folder / ".agent-memory" / f"token.{digest[:8]}"


def test_the_first_token_may_read_and_write_and_nothing_else_is_promised(start_stack):
    stack = start_stack()
    (path,) = (stack.folder / ".agent-memory" / "auth" / "tokens").iterdir()
    assert sorted(json.loads(path.read_text())["permissions"]) == ["read", "write"]
    assert ("read, write)" in stack.banner, "erase" in stack.banner) == (True, False)


def test_metrics_are_not_printed_however_many_there_are(start_stack):
    stack = start_stack(PRUNE_INTERVAL_SECONDS="0.1", SWEEP_INTERVAL_SECONDS="0.1")
    for _ in range(110):
        stack.send("GET", "/healthz")
    assert stack.stop() == 0
    log = stack.log_path.read_text()
    assert (stack.rest.splitlines()[1:], "CloudWatch" in log, "Warning" in log) == ([], False, False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_though_nobody_reads_its_output_any_more(start_stack, number):
    stack = start_stack(INDEX_WINDOW_SECONDS="600")
    stack.send("POST", "/v1/memories", {"content": "green tea"})
    stack.output.close()
    assert stack.stop(number) == 0
    assert start_stack().send("GET", "/v1/stats")[1]["segments"] == 1
    assert "BrokenPipe" not in stack.log_path.read_text()


def test_every_request_is_one_line_of_the_log_without_its_query(start_stack):
    stack = start_stack()
    stack.send("GET", f"/v1/memories?tag={SECRET}")
    stack.send("POST", "/v1/memories", {"content": [SECRET]})
    lines = [line.split() for line in stack.log_path.read_text().splitlines()]
    assert [line[1:4] for line in lines] == [["GET", "/v1/memories", "200"], ["POST", "/v1/memories", "422"]]
    assert [(len(line), line[5]) for line in lines] == [(6, "ms")] * 2
