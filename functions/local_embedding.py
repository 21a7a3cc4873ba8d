"""Which embedder the local stack uses where nobody chose one: the model of this project, if it is there and can run."""

from collections.abc import MutableMapping
from pathlib import Path
from typing import Final

from s3_agent_memory import bootstrap, names
from s3_agent_memory.errors import ValidationError

MODEL_DIRECTORY: Final = Path(__file__).resolve().parent.parent / names.DEFAULT_MODEL_DIRECTORY
_ONNX: Final = "onnx"


def choose_embedder(environ: MutableMapping[str, str]) -> str:
    """Set the embedder in the environment unless it is set, and return in words how memories will be found."""
    if not environ.get(names.ENV_EMBEDDINGS):
        directory = environ.get(names.ENV_EMBEDDING_MODEL) or str(MODEL_DIRECTORY)
        try:
            bootstrap.build_embedder(bootstrap.Settings(embeddings=_ONNX, embedding_model=directory))
        except ValidationError as error:
            return f"by words alone: {error}"
        environ[names.ENV_EMBEDDINGS], environ[names.ENV_EMBEDDING_MODEL] = _ONNX, directory
    chosen = environ[names.ENV_EMBEDDINGS]
    return "by words alone" if chosen == names.DEFAULT_EMBEDDINGS else f"by words and meaning ({chosen})"
