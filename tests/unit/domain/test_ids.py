"""Ids out of an allow-list, and generated ones that list in order."""

import pytest

from s3_agent_memory.domain.ids import IdSource, check_id, new_file_name, new_nonce, written_ms
from s3_agent_memory.errors import ValidationError
from tests.fakes.clock import FakeClock
from tests.fakes.entropy import SeededEntropy


@pytest.mark.parametrize(
    "memory_id", ["a", "Z9", "0", "a.b+tag@x.co", "3f2c8a52-1f9e-4c3b-9c0e-6d1b0d0f7a11", "a" * 128, "a..b", "a."]
)
def test_a_safe_id_is_allowed(memory_id: str) -> None:
    assert check_id(memory_id) == memory_id


@pytest.mark.parametrize(
    "value",
    [
        *["", ".", "..", ".a", "-a", "_a", "@a", "a/b", "a\\b", "a%2Fb", "auth0|123", "a b", "a ", " a", "a\n", "a\0"],
        *["ü", "用户", "🙂", "e\u0301", "a" * 129, "a" * 512, "a\ud800", "a*", "a?", "a[", "a~b", "a:b"],
        *[None, 1, True, b"a", ("a",)],
    ],
)
def test_any_other_id_is_refused_with_what_is_allowed(value: object) -> None:
    with pytest.raises(ValidationError, match=r"^id must be 1 to 128 characters out of"):
        check_id(value)


def test_a_generated_id_may_be_chosen_too() -> None:
    generated = IdSource(FakeClock(), SeededEntropy()).new_id()
    assert check_id(generated) == generated


def test_generated_ids_sort_by_time() -> None:
    clock = FakeClock()
    source, ids = IdSource(clock, SeededEntropy()), []
    for _ in range(50):
        ids.append(source.new_id())
        clock.advance(0.001)
    assert ids == sorted(ids)


def test_ids_of_one_moment_rise() -> None:
    source = IdSource(FakeClock(), SeededEntropy())
    ids = [source.new_id() for _ in range(1_000)]
    assert ids == sorted(set(ids))


def test_ids_of_two_processes_in_one_moment_differ() -> None:
    clock = FakeClock()
    sources = [IdSource(clock, SeededEntropy(seed)) for seed in (1, 2)]
    assert len({source.new_id() for source in sources for _ in range(100)}) == 200


def test_file_names_sort_by_time_and_carry_milliseconds() -> None:
    clock = FakeClock("2026-10-23T23:37:41.624370Z")
    assert new_file_name(clock, SeededEntropy()).startswith("1792798661624-")


def test_a_file_name_tells_when_it_was_made() -> None:
    clock = FakeClock("2026-10-23T23:37:41.624370Z")
    assert written_ms("memory/a/_index/log/" + new_file_name(clock, SeededEntropy())) == 1_792_798_661_624


@pytest.mark.parametrize("name", ["", "log/", "123-abc", "179279866162x-abc", "¹792798661624-abc", "9" * 5_000 + "-a"])
def test_a_foreign_file_name_tells_no_time(name: str) -> None:
    assert written_ms(name) == 0


def test_a_nonce_is_16_hexadecimal_digits() -> None:
    assert len(bytes.fromhex(new_nonce(SeededEntropy()))) == 8
