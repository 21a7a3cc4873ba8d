"""Random bytes that a seed determines."""

from random import Random


class SeededEntropy:
    """An ``Entropy`` that gives the same bytes in every run with the same seed."""

    def __init__(self, seed: int = 0) -> None:
        self._random = Random(seed)

    def random_bytes(self, count: int) -> bytes:
        """See ``Entropy``."""
        return self._random.randbytes(count)
