"""Weights of a ranking are checked when it is made."""

from typing import Any

import pytest

from s3_agent_memory.domain.kinds import Kind
from s3_agent_memory.domain.ranking import Ranking
from s3_agent_memory.errors import ValidationError


@pytest.mark.parametrize(
    "values",
    [
        *[{"relevance": -0.1}, {"relevance": 0, "recency": 0, "importance": 0}, {"k1": -1}, {"b": 1.1}, {"b": -0.1}],
        *[{"half_life_days": {Kind.SEMANTIC: 0}}, {"half_life_days": {Kind.SEMANTIC: -1.0}}],
    ],
)
def test_a_ranking_that_makes_no_sense_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Ranking(**values)


def test_the_default_weights_are_those_of_the_documentation() -> None:
    ranking = Ranking()
    assert (ranking.relevance, ranking.recency, ranking.importance) == (0.7, 0.15, 0.15)
