"""Settings of every suite: property tests draw the same examples at each run.

``pytest --hypothesis-profile=default`` draws new ones.
"""

from hypothesis import settings

settings.register_profile("ci", derandomize=True, database=None, deadline=None)
settings.load_profile("ci")
