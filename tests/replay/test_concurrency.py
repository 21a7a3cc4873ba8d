"""Many writers of the same ids: every acknowledged change is there, and whatever was not applied was reported."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from s3_agent_memory.bootstrap import MemoryStore
from s3_agent_memory.errors import AgentMemoryError, ConflictError, NotFoundError
from tests.replay.conftest import Open

WRITER_COUNT = 20


def all_at_once(open_store: Open, write: Callable[[MemoryStore, int], object]) -> list[AgentMemoryError | None]:
    """Run a write in 20 threads over two stores, all starting together; return the answers."""
    stores = [open_store(), open_store()]
    barrier = Barrier(WRITER_COUNT)

    def run(number: int) -> AgentMemoryError | None:
        barrier.wait()
        try:
            write(stores[number % 2], number)
        except AgentMemoryError as error:
            return error
        return None

    with ThreadPoolExecutor(WRITER_COUNT) as pool:
        return list(pool.map(run, range(WRITER_COUNT)))


def test_of_many_adds_of_one_id_exactly_one_is_acknowledged(open_store: Open) -> None:
    answers = all_at_once(open_store, lambda store, number: store.remember("n", f"text {number}", id="one"))
    winner = answers.index(None)
    assert [type(answer) for answer in answers if answer] == [ConflictError] * (WRITER_COUNT - 1)
    assert open_store().get("n", "one").content == f"text {winner}"


def test_every_update_of_one_id_is_applied(open_store: Open) -> None:
    open_store().remember("n", "text", id="one")
    answers = all_at_once(open_store, lambda store, number: store.update("n", "one", metadata={f"k{number}": number}))
    memory = open_store().get("n", "one")
    acknowledged = {f"k{number}": number for number, answer in enumerate(answers) if answer is None}
    assert (memory.metadata, memory.version) == (acknowledged, 1 + len(acknowledged))
    assert len(acknowledged) == WRITER_COUNT


def test_of_many_updates_of_an_expected_version_one_is_applied(open_store: Open) -> None:
    open_store().remember("n", "text", id="one")
    answers = all_at_once(
        open_store, lambda store, number: store.update("n", "one", metadata={"k": number}, expected_version=1)
    )
    memory = open_store().get("n", "one")
    assert (memory.metadata, memory.version) == ({"k": answers.index(None)}, 2)
    assert answers.count(None) == 1


def test_a_forget_among_updates_is_final(open_store: Open) -> None:
    open_store().remember("n", "text", id="one")

    def write(store: MemoryStore, number: int) -> None:
        if number == WRITER_COUNT // 2:
            store.forget("n", "one")
        else:
            store.update("n", "one", metadata={f"k{number}": number})

    answers = all_at_once(open_store, write)
    assert answers[WRITER_COUNT // 2] is None
    assert {type(answer) for answer in answers} <= {type(None), NotFoundError}
    assert open_store().list("n").memories == ()
    assert list(open_store().export("n")) == []
