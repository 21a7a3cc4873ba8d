"""Ids out of an allow-list, and generated ones that list in order."""

import pytest

from s3_agent_memory.domain.ids import check_id, new_file_name, new_id, new_nonce
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
    generated = new_id(FakeClock(), SeededEntropy())
    assert check_id(generated) == generated


def test_generated_ids_sort_by_time() -> None:
    clock, entropy = FakeClock(), SeededEntropy()
    ids = []
    for _ in range(50):
        ids.append(new_id(clock, entropy))
        clock.advance(0.001)
    assert ids == sorted(ids)


def test_ids_of_one_moment_differ() -> None:
    clock, entropy = FakeClock(), SeededEntropy()
    assert len({new_id(clock, entropy) for _ in range(1_000)}) == 1_000


def test_file_names_sort_by_time_and_carry_milliseconds() -> None:
    clock = FakeClock("2026-10-23T23:37:41.624370Z")
    assert new_file_name(clock, SeededEntropy()).startswith("1792798661624-")


def test_a_nonce_is_16_hexadecimal_digits() -> None:
    assert len(bytes.fromhex(new_nonce(SeededEntropy()))) == 8
