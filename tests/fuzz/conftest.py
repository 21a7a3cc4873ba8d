"""More inputs on demand: ``pytest tests/fuzz --hypothesis-profile=long`` draws new ones."""

from hypothesis import settings

settings.register_profile("long", max_examples=20_000, deadline=None)
