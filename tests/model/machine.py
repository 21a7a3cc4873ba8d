"""All rules together."""

from tests.model.reading import Reading
from tests.model.upkeep import Upkeep
from tests.model.writing import Writing


class StoreMachine(Writing, Reading, Upkeep):
    """A store that is driven by all rules in any order."""
