"""Runs the AWS emulator with TLS and IAM; started by the interpreter of the emulator's own environment.

The template refuses plain HTTP and unconditional writes, so the emulator must know both to be worth deploying to:
it answers by HTTPS with a certificate made here, and learns the condition keys of S3 that it does not have.

Usage: ``python emulator_process.py DIRECTORY``; the authority to trust is then in ``DIRECTORY/ca.pem``. The process
ends when its standard input does, with its functions and the directory, so nothing outlives whoever started it.
"""

import os
import shutil
import signal
import sys
import threading
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

# A part of a multipart upload creates no object, and cannot carry a precondition.
_PART_OPERATIONS = ("uploads", "partNumber")


def main(directory: Path) -> None:
    """Run until standard input ends or a signal comes."""
    _make_certificate(directory)
    _add_condition_keys(import_module("ministack.core.iam_actions"))
    threading.Thread(target=_end_with_standard_input, args=[directory], daemon=True).start()
    sys.argv = ["ministack"]
    program = import_module("ministack.app")
    # With TLS it would also listen on 443.
    vars(program)["_port_is_bindable"] = lambda *_: False
    program.main()


def _make_certificate(directory: Path) -> None:
    authority = import_module("trustme").CA()
    certificate = authority.issue_cert("127.0.0.1", "localhost")
    authority.cert_pem.write_to_path(directory / "ca.pem")
    certificate.cert_chain_pems[0].write_to_path(directory / "server.crt")
    certificate.private_key_pem.write_to_path(directory / "server.key")
    os.environ.update(
        USE_SSL="1",
        MINISTACK_SSL_CERT=str(directory / "server.crt"),
        MINISTACK_SSL_KEY=str(directory / "server.key"),
    )


def _add_condition_keys(actions: Any) -> None:
    """Let policies see the preconditions of a request, as they do on S3."""
    known = actions.s3_service_context

    def s3_service_context(
        iam_action: str,
        query_params: Mapping[str, Any] | None,
        path: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        context: dict[str, Any] = known(iam_action, query_params, path, headers)
        if iam_action in ("s3:PutObject", "s3:DeleteObject"):
            sent = headers or {}
            context |= {f"s3:{name}": sent[name] for name in ("if-match", "if-none-match") if name in sent}
        if iam_action == "s3:PutObject":
            is_part = any(name in (query_params or {}) for name in _PART_OPERATIONS)
            context["s3:ObjectCreationOperation"] = "false" if is_part else "true"
        return context

    actions.s3_service_context = s3_service_context


def _end_with_standard_input(directory: Path) -> None:
    sys.stdin.read()
    shutil.rmtree(directory, ignore_errors=True)
    # The group is this process's own: whoever starts it makes it a session.
    os.killpg(os.getpgid(0), signal.SIGKILL)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
