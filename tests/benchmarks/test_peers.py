"""Every adapter does what the comparison asks of it; those run here whose library this project has anyway."""

import importlib.util

import numpy as np
import pytest

from benchmarks.peers import __main__ as peers
from benchmarks.peers import material as materials
from benchmarks.peers import writers
from benchmarks.peers.material import KnownTexts, Material
from benchmarks.peers.port import CONTENDERS, with_author
from benchmarks.quality_corpora import Item

WORDS = ("violin", "tractor", "glacier", "saffron", "lantern", "harbour", "orchid", "compass", "meteor", "walnut")
TEXTS = [f"Mara keeps a {word} in room {number}" for number, word in enumerate(WORDS)]
NEW = "Mara sold her old bicycle"
HERE = [*(name for name, one in CONTENDERS.items() if one.module in {"library", "single_file", "bm25s_index"})]
HERE += ["LangGraph InMemoryStore"]
PERSISTENT = [name for name in HERE if CONTENDERS[name].is_persistent]


def embedder():
    texts = [*TEXTS, NEW]
    return KnownTexts(texts, np.eye(len(texts), dtype=np.float32))


def items(texts):
    return [
        Item(id=f"m{number}", text=text, created_at="2026-01-01T00:00:00+00:00") for number, text in enumerate(texts)
    ]


def new_item():
    return Item(id="new", text=NEW, created_at="2026-01-02T00:00:00+00:00")


@pytest.fixture(params=HERE)
def peer(request, tmp_path):
    opened = CONTENDERS[request.param].open(tmp_path, embedder())
    opened.load(items(TEXTS))
    yield opened
    opened.close()


def test_a_loaded_memory_is_found_by_its_text(peer):
    assert [peer.search(text)[0] for text in TEXTS] == [item.id for item in items(TEXTS)]


def test_at_most_ten_memories_are_found(peer):
    assert len(peer.search(TEXTS[0])) <= 10


def test_what_was_written_is_found_at_once(peer):
    peer.write(new_item())
    assert peer.search(NEW)[0] == "new"


def test_all_memories_are_counted(peer):
    peer.write(new_item())
    assert peer.count() == len(TEXTS) + 1


@pytest.mark.parametrize("name", PERSISTENT)
def test_what_was_stored_is_there_after_reopening(name, tmp_path):
    first = CONTENDERS[name].open(tmp_path, embedder())
    first.load(items(TEXTS))
    first.write(new_item())
    first.close()
    again = CONTENDERS[name].open(tmp_path, embedder())
    assert (again.count(), again.search(NEW)[0]) == (len(TEXTS) + 1, "new")
    again.close()


def test_a_single_file_loses_nothing_to_another_writer(tmp_path):
    one, other = (CONTENDERS["single file"].open(tmp_path, embedder()) for _ in range(2))
    one.load(items(TEXTS))
    assert other.count() == len(TEXTS)
    one.write(new_item())
    other.write(Item(id="other", text=TEXTS[0], created_at="2026-01-03T00:00:00+00:00"))
    assert one.count() == len(TEXTS) + 2


def test_known_texts_are_found_without_the_white_space_around_them():
    table = KnownTexts([" a question "], np.ones((1, 2), np.float32))
    assert table.embed_query("a question").tolist() == [1, 1]


def test_joined_tables_know_the_texts_of_both():
    one, other = KnownTexts(["a"], np.eye(1, 2, dtype=np.float32)), KnownTexts(["a", "b"], np.eye(2, dtype=np.float32))
    assert one.joined(other).embed(["b", "a"]).tolist() == [[0, 1], [1, 0]]


def test_material_of_any_size_has_no_text_twice(tmp_path):
    real = np.random.default_rng(1).standard_normal((20, 4)).astype(np.float32)
    (tmp_path / "questions.json").write_text('["who?"]', "utf-8")
    np.save(tmp_path / "questions.npy", real[:1])
    material = Material.prepare(tmp_path, 50, [f"text {number}" for number in range(20)], real)
    (loaded, _), (new, table) = material.loaded(), material.new()
    texts = {item.text for item in (*loaded, *new)}
    assert (len(loaded), len(new), len(texts)) == (50, materials.NEW_COUNT, 50 + materials.NEW_COUNT)
    assert table.embed_query(new[-1].text).shape == (4,)


def test_the_author_is_in_the_text_for_those_that_have_no_field():
    assert with_author(Item(id="1", text="Hello", created_at="", author="Ann")) == "Ann: Hello"


def test_many_threads_lose_nothing_here(tmp_path):
    real = np.random.default_rng(1).standard_normal((20, 4)).astype(np.float32)
    (tmp_path / "questions.json").write_text('["who?"]', "utf-8")
    np.save(tmp_path / "questions.npy", real[:1])
    material = Material.prepare(tmp_path, 10, [f"text {number}" for number in range(20)], real)
    found = writers.run(
        "LangGraph InMemoryStore", "threads", tmp_path, material=material, write_count=5, seconds_max=60.0
    )
    assert (found["tried"], found["acknowledged"], found["lost"], found["error"]) == (40, 40, 0, None)


def test_a_system_that_is_not_installed_is_reported():
    if importlib.util.find_spec("lancedb"):
        pytest.skip("it is installed")
    with pytest.raises(peers.StepError, match="lancedb is not there"):
        peers.ask({"name": "LanceDB", "step": "versions", "folder": "."}, seconds_max=120)


def test_every_system_says_how_it_is_used_and_what_survives():
    assert all(contender.settings and contender.durability for contender in CONTENDERS.values())


@pytest.mark.parametrize(
    ("load_s", "memory_mb", "reason"),
    [(1.0, 100.0, None), (20.0, 100.0, "loading would take about 3 min"), (1.0, 1_800.0, "about 18 GB of memory")],
)
def test_a_size_that_would_take_too_long_or_too_much_memory_is_not_run(
    load_s: float, memory_mb: float, reason: str | None
) -> None:
    figures = {"load": {"seconds": load_s}, "read": {"anonymous_mb": memory_mb}}
    found = peers._why_not((100_000, figures), 1_000_000, 180.0)
    assert (found is None) if reason is None else (reason in str(found))


def test_after_a_size_that_failed_no_larger_one_is_run() -> None:
    assert peers._why_not(None, 1_000_000, 180.0) == "the size before did not finish"
