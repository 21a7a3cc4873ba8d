"""Which text analysis an index uses: that of its manifest, so that processes with other settings agree."""

from s3_agent_memory.domain.keys import Namespace, head_key
from s3_agent_memory.errors import ValidationError
from s3_agent_memory.index.manifest import Manifest
from s3_agent_memory.index.text.analyzer import Analyzer
from s3_agent_memory.service.stored_index.head import IndexBrokenError


class Analyzers:
    """The analyzer of this process, and those that existing indexes were built with."""

    def __init__(self, default: Analyzer) -> None:
        self.default = default
        self._known = {default.signature: default}

    def of(self, namespace: Namespace, manifest: Manifest) -> Analyzer:
        """Return the analyzer an index was built with; the default for a new one.

        Raises:
            IndexBrokenError: it was built by an algorithm this version no longer has, and must be rebuilt.
        """
        signature = manifest.analyzer or self.default.signature
        known = self._known.get(signature)
        if known is None:
            known = _parse(signature)
            if known is None:
                key = head_key(namespace)
                raise IndexBrokenError(f"{key} was built with the unknown text analysis {signature!r}", key=key)
            self._known[signature] = known
        return known


def _parse(signature: str) -> Analyzer | None:
    try:
        analyzer = Analyzer(signature.partition("/")[0])
    except ValidationError:
        return None
    return analyzer if analyzer.signature == signature else None
