"""How large things may be. Sizes are bytes of UTF-8 JSON unless the name says otherwise."""

from dataclasses import dataclass

from s3_agent_memory.errors import LimitExceededError

_KIB = 1024
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one store; each is named in the error that it causes.

    Attributes:
        content_bytes_max: text of one memory.
        data_bytes_max: ``data`` of one memory, as JSON.
        metadata_bytes_max: ``metadata`` of one memory, as JSON.
        tag_count_max: tags of one memory.
        tag_length_max: characters of one tag.
        label_length_max: characters of ``source`` and of each field of ``attribution``.
        named_version_count_max: versions of other memories that one memory supersedes, or is consolidated from.
        object_bytes_max: most bytes that are read of one memory object.
        index_file_bytes_max: most bytes that are read of one index file.
        memory_count_max: memories in one namespace.
        query_length_max: characters of a query.
        result_count_max: results of one recall, and memories of one page of a list.
        line_bytes_max: bytes of one line of an import, and so of one memory as JSON: what was stored can be moved.
    """

    content_bytes_max: int = 16 * _KIB
    data_bytes_max: int = 32 * _KIB
    metadata_bytes_max: int = 4 * _KIB
    tag_count_max: int = 32
    tag_length_max: int = 128
    label_length_max: int = 512
    named_version_count_max: int = 100
    object_bytes_max: int = _MIB
    index_file_bytes_max: int = 64 * _MIB
    memory_count_max: int = 1_000_000
    query_length_max: int = 2_000
    result_count_max: int = 100
    line_bytes_max: int = 128 * _KIB

    def check(self, name: str, size: int, what: str) -> None:
        """Do nothing if ``size`` is within the limit called ``name``.

        Args:
            what: what has that size, for the error: "content is 20000 bytes".

        Raises:
            LimitExceededError: it is above; the error names the limit.

        Example:
            >>> Limits().check("tag_count_max", 32, "there are 32 tags")
        """
        maximum: int = getattr(self, name)
        if size > maximum:
            raise LimitExceededError(f"{what}; at most {maximum} are allowed", limit=name, maximum=maximum)
