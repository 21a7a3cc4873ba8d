"""Settings of the tiers."""

import pytest

from s3_agent_memory.domain.tiers import FailureMode, Marks, TierSettings
from s3_agent_memory.errors import ValidationError

P = "S3_AGENT_MEMORY_"


def test_the_marks_follow_from_the_budget() -> None:
    assert TierSettings().marks == Marks(high_tokens=4_096, low_tokens=2_048, turn_count_max=2_000)


def test_every_setting_is_read_from_the_environment() -> None:
    settings = TierSettings.from_environment(
        {
            P + "TOKEN_BUDGET": "1000",
            P + "COMPACTION_TRIGGER": "900",
            P + "COMPACTION_TARGET": "300",
            P + "HARD_EVENT_CAP": "50",
            P + "ROLLING_SUMMARY": "off",
            P + "DIGEST_RETENTION": "3",
            P + "REQUIRE_PRINCIPAL": "true",
            P + "REQUIRE_AGENT_IDENTITY": "1",
            P + "DEFAULT_FAILURE_MODE": "strict",
            P + "DEFAULT_TOP_K": "7",
            P + "SCORE_THRESHOLD": "0.25",
            P + "LONG_TERM_ENABLED": "no",
        }
    )
    assert settings == TierSettings(
        token_budget=1_000,
        compaction_trigger=900,
        compaction_target=300,
        hard_event_cap=50,
        rolling_summary=False,
        digest_retention=3,
        require_principal=True,
        require_agent_identity=True,
        default_failure_mode=FailureMode.STRICT,
        default_top_k=7,
        score_threshold=0.25,
        long_term_enabled=False,
    )


def test_no_setting_is_the_usual_one() -> None:
    assert TierSettings.from_environment({P + "TOKEN_BUDGET": " "}) == TierSettings()


@pytest.mark.parametrize(("trigger", "target"), [("5000", "100"), ("100", "100"), ("100", "200"), ("1000", None)])
def test_marks_out_of_order_are_refused(trigger: str, target: str | None) -> None:
    environ = {P + "COMPACTION_TRIGGER": trigger} | ({P + "COMPACTION_TARGET": target} if target else {})
    with pytest.raises(ValidationError, match="0 < compaction_target < compaction_trigger <= token_budget"):
        TierSettings.from_environment(environ)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOKEN_BUDGET", "-1"),
        ("TOKEN_BUDGET", "4k"),
        ("HARD_EVENT_CAP", "0"),
        ("ROLLING_SUMMARY", "maybe"),
        ("DEFAULT_FAILURE_MODE", "hard"),
        ("DEFAULT_TOP_K", "101"),
        ("SCORE_THRESHOLD", "nan"),
        ("SCORE_THRESHOLD", "2"),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(ValidationError, match=P + name):
        TierSettings.from_environment({P + name: value})
