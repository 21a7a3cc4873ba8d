"""Many memories over HTTP: search, list, batch."""

import pytest

from tests.functions.deployment import object_store


def test_search_answers_hits_with_score_memory_and_key(client):
    memory = client.remember("Alice drinks green tea")
    client.remember("Bob drives a car")
    answer = client.send("POST", "/v1/memories/search", {"query": "tea"})
    (hit,) = answer.json["hits"]
    assert hit["memory"] == memory
    assert hit["key"] == f"memory/{client.namespace}/semantic/{memory['id']}.json"
    assert (hit["score"] > 0, "explain" in hit, answer.json["degraded"]) == (True, False, [])


def test_scores_are_rounded_to_six_decimals(client):
    client.remember("green tea", importance=1 / 3)
    (hit,) = client.send("POST", "/v1/memories/search", {"query": "tea", "explain": True}).json["hits"]
    scores = [hit["score"], *hit["explain"].values()]
    assert scores == [round(score, 6) for score in scores]


def test_search_explains_a_score_when_asked(client):
    client.remember("Alice drinks green tea")
    (hit,) = client.send("POST", "/v1/memories/search", {"query": "tea", "explain": True}).json["hits"]
    assert {"relevance", "recency", "importance"} <= set(hit["explain"])


def test_a_memory_is_found_right_after_it_was_stored_changed_or_forgotten(client):
    memory = client.remember("first wording")
    path = f"/v1/memories/{memory['id']}"
    found = [client.search("wording")]
    client.send("PATCH", path, {"content": "second phrase"})
    found += [client.search("wording"), client.search("phrase")]
    client.send("DELETE", path)
    found.append(client.search("phrase"))
    assert found == [[memory["id"]], [], [memory["id"]], []]


def test_search_selects_by_kind_tags_and_filter(client):
    wanted = client.remember("tea", kind="episodic", tags=["a", "b"], data={"price": 10}, attribution={"author": "Ann"})
    client.remember("tea", kind="episodic", tags=["a"], data={"price": 9})
    client.remember("tea", kind="semantic", tags=["a", "b"], data={"price": "10"})
    everything = {"kind": "episodic", "tags": ["a", "b"], "filter": {"data.price": {"$gte": 10}, "author": "Ann"}}
    assert client.search("tea", **everything) == [wanted["id"]]


@pytest.mark.parametrize(
    ("operator", "matching"),
    [
        ({"$gt": 9}, {"10", "10.5"}),
        ({"$gte": 10}, {"10", "10.5"}),
        ({"$lt": 9}, {"2", "-1"}),
        ({"$lte": 9}, {"2", "9", "-1"}),
        ({"$eq": 10}, {"10"}),
        ({"$eq": "10"}, {'"10"'}),
        ({"$eq": True}, {"true"}),
        ({"$eq": None}, {"null", "missing"}),
    ],
)
def test_a_filter_compares_numbers_as_numbers_and_never_across_types(client, operator, matching):
    values = {"2": 2, "9": 9, "10": 10, "10.5": 10.5, "-1": -1, '"10"': "10", "true": True, "null": None}
    ids = {client.remember("x", data={"n": value})["id"]: name for name, value in values.items()}
    ids[client.remember("x")["id"]] = "missing"
    assert {ids[found] for found in client.search("", filter={"data.n": operator}, limit=100)} == matching


@pytest.mark.parametrize("conditions", [{"usr_id": "x"}, {"data": 1}, {"namespace": "x"}, {"importance": {"$near": 1}}])
def test_an_unknown_filter_key_or_operator_is_400_and_named(client, conditions):
    client.remember("x")
    answer = client.send("POST", "/v1/memories/search", {"query": "x", "filter": conditions})
    assert (answer.status, answer.code) == (400, "validation")
    named = ("usr_id", "data", "namespace", "$near")
    assert any(name in str(conditions) and name in answer.json["detail"] for name in named)


def test_a_filter_for_somebody_without_memories_finds_nothing(client):
    client.remember("x", attribution={"user_id": "alice"})
    assert client.search("x", filter={"user_id": "bob"}) == []


def test_a_query_without_terms_finds_nothing_and_an_empty_one_everything(client):
    client.remember("Alice drinks tea")
    assert (client.search("the of and"), client.search("🎉"), len(client.search(""))) == ([], [], 1)


@pytest.mark.parametrize("limit", [0, -1, 101, 5000])
def test_a_search_limit_outside_its_range_is_400(client, limit):
    answer = client.send("POST", "/v1/memories/search", {"query": "x", "limit": limit})
    assert (answer.status, answer.code) == (400, "validation")


@pytest.mark.parametrize("field", ["tag", "filters", "top_k", "namespace", "user_id"])
def test_a_misspelt_field_of_a_search_is_refused_by_name(client, field):
    answer = client.send("POST", "/v1/memories/search", {"query": "x", field: "y"})
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, field)


def test_a_query_that_is_too_long_is_413(client):
    answer = client.send("POST", "/v1/memories/search", {"query": "x" * 2_001})
    assert (answer.status, answer.code) == (413, "limit_exceeded")


def test_eventual_consistency_is_accepted(client):
    assert client.send("POST", "/v1/memories/search", {"query": "x", "consistency": "eventual"}).status == 200


def test_list_selects_by_kind_and_repeated_tags_that_may_hold_commas(client):
    both = client.remember(kind="episodic", tags=["a,b", "c"])
    client.remember(kind="episodic", tags=["a,b"])
    client.remember(kind="episodic", tags=["a", "b", "c"])
    client.remember(tags=["a,b", "c"])
    listed = client.send("GET", "/v1/memories?kind=episodic&tag=a%2Cb&tag=c").json["memories"]
    assert [memory["id"] for memory in listed] == [both["id"]]


def test_list_pages_to_the_end_without_a_repetition(client):
    ids = {client.remember(f"memory {number}")["id"] for number in range(23)}
    seen, cursor = [], ""
    for _ in range(10):
        page = client.send("GET", f"/v1/memories?limit=5{cursor}").json
        seen += [memory["id"] for memory in page["memories"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert (len(seen), set(seen)) == (23, ids)


@pytest.mark.parametrize("query", ["limit=0", "limit=-1", "limit=abc", "limit=5000", "limit=", "limit=1&limit=2"])
def test_a_list_limit_that_is_nonsense_is_400(client, query):
    answer = client.send("GET", f"/v1/memories?{query}")
    assert (answer.status, answer.code) == (400, "validation")


@pytest.mark.parametrize("cursor", ["x", "", "AAAA", "%F0%9F%98%80"])
def test_a_cursor_that_is_nonsense_is_400(client, cursor):
    answer = client.send("GET", f"/v1/memories?cursor={cursor}")
    assert (answer.status, answer.code) == (400, "validation")


def test_a_cursor_of_another_list_is_400(client):
    for number in range(3):
        client.remember(f"memory {number}")
    cursor = client.send("GET", "/v1/memories?limit=1").json["next_cursor"]
    assert client.send("GET", f"/v1/memories?limit=1&kind=semantic&cursor={cursor}").status == 400


def test_an_unknown_kind_is_400(client):
    assert client.send("GET", "/v1/memories?kind=opinion").status == 400


def test_an_answer_larger_than_lambda_allows_is_413_with_advice(client):
    for number in range(100):
        client.remember('"' * 16_000, data={"x": '"' * 15_000}, id=f"m{number}")
    answer = client.send("GET", "/v1/memories?limit=100")
    assert (answer.status, answer.code) == (413, "answer_too_large")
    assert client.send("GET", "/v1/memories?limit=20").status == 200


def test_an_object_that_cannot_be_read_is_reported_and_the_others_are_listed(client):
    good, bad = client.remember("tea good"), client.remember("tea bad")
    key = f"memory/{client.namespace}/semantic/{bad['id']}.json"
    object_store().put(key, b"")
    listed = client.send("GET", "/v1/memories").json
    found = client.send("POST", "/v1/memories/search", {"query": "tea"}).json
    assert [memory["id"] for memory in listed["memories"]] == [good["id"]]
    assert [hit["memory"]["id"] for hit in found["hits"]] == [good["id"]]
    assert (listed["corrupt_keys"], found["corrupt_keys"]) == ([key], [key])


def test_batch_answers_each_operation_in_order(client):
    client.remember("tea", id="tea")
    operations = [
        {"op": "remember", "content": "coffee", "id": "coffee"},
        {"op": "get", "id": "coffee"},
        {"op": "update", "id": "tea", "content": "green tea", "expected_version": 1},
        {"op": "search", "query": "green"},
        {"op": "forget", "id": "tea", "reason": "done"},
        {"op": "get", "id": "tea"},
    ]
    results = client.send("POST", "/v1/memories/batch", {"operations": operations}).json["results"]
    assert [result["status"] for result in results] == [201, 200, 200, 200, 200, 404]
    assert results[3]["body"]["hits"][0]["memory"]["content"] == "green tea"
    assert results[5]["problem"]["code"] == "not_found"


@pytest.mark.parametrize(
    ("operation", "status", "field"),
    [
        ({"op": "remember"}, 422, "content"),
        ({"op": "remember", "content": "x", "namespace": "users/bob"}, 422, "namespace"),
        ({"op": "update", "id": "tea", "importance": "high"}, 422, "importance"),
        ({"op": "erase"}, 422, "op"),
        ({}, 422, "op"),
        (5, 422, "op"),
        ({"op": "remember", "content": ""}, 400, None),
        ({"op": "remember", "content": "x" * 20_000}, 413, None),
        ({"op": "update", "id": "tea", "content": "x", "expected_version": 7}, 409, None),
    ],
)
def test_an_operation_that_fails_does_not_stop_the_others(client, operation, status, field):
    client.remember(id="tea")
    body = {"operations": [operation, {"op": "get", "id": "tea"}]}
    failed, done = client.send("POST", "/v1/memories/batch", body).json["results"]
    assert (failed["status"], failed["problem"]["status"], done["status"]) == (status, status, 200)
    assert [error["field"] for error in failed["problem"].get("errors", [])] == ([] if field is None else [field])


@pytest.mark.parametrize("operations", [[], [{"op": "get", "id": "x"}] * 101, "x", None])
def test_a_batch_of_the_wrong_size_or_shape_is_422(client, operations):
    answer = client.send("POST", "/v1/memories/batch", {"operations": operations})
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, "operations")


def test_a_batch_that_reads_too_much_reports_every_write_and_leaves_out_what_does_not_fit(client):
    for number in range(60):
        client.remember('"' * 16_000, data={"x": '"' * 15_000}, id=f"m{number}")
    writes = [{"op": "update", "id": "m0", "importance": number / 100} for number in range(50)]
    reads = [{"op": "get", "id": f"m{number}"} for number in range(50)]
    operations = [operation for pair in zip(reads, writes, strict=True) for operation in pair]
    results = client.send("POST", "/v1/memories/batch", {"operations": operations}).json["results"]
    written = [result for result in results[1::2] if result["status"] == 200]
    refused = {result["problem"]["code"] for result in results if result["status"] != 200}
    assert client.send("GET", "/v1/memories/m0").json["memory"]["version"] == 1 + len(written)
    assert (0 < len(written) < 50, refused) == (True, {"answer_too_large"})
