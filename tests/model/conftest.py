"""More and longer runs on demand: ``pytest tests/model --hypothesis-profile=long`` draws new ones for half an hour."""

from hypothesis import settings

settings.register_profile("long", max_examples=3_000, stateful_step_count=120, deadline=None)
