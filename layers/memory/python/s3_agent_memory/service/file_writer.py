"""Writing objects that are written once and never change, under names that nobody else has."""

from s3_agent_memory.errors import PreconditionFailedError, ThrottledError, UnknownOutcomeError
from s3_agent_memory.service.runtime import Runtime


def write_once(runtime: Runtime, key: str, body: bytes, *, what: str) -> None:
    """Write an object under a fresh random key, as often as it takes to know that it is there.

    Args:
        what: what is being tried, for the error.

    Raises:
        ThrottledError: the attempts are used up.
    """
    for _ in runtime.retrier.attempts(what):
        try:
            runtime.store.put(key, body, if_absent=True)
        except PreconditionFailedError:
            # The key is random: what lies there is an earlier attempt, unless a rival request is under way.
            if runtime.store.get(key, size_max=1) is None:
                continue
        except (ThrottledError, UnknownOutcomeError):
            continue
        return
