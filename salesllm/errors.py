"""The one error a user can mend, and how an entry point shows it."""

from __future__ import annotations

import errno
import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec

P = ParamSpec("P")
_REFUSED = {
    errno.EACCES, errno.EDQUOT, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG,
    errno.ENOENT, errno.ENOSPC, errno.ENOTDIR, errno.EPERM, errno.EROFS,
}  # fmt: skip
"""What the system may hold against a path: no leave, no such folder, no space."""


class InputError(Exception):
    """Something the user gave is wrong: one message that says where, what, and what to do.

    Entry points print it and exit with code 2; nothing has been written by then.

    Args:
        problem: What is wrong, without a trailing full stop.
        path: The file it is in.
        line: 1-based line number in that file.
        field: Dotted name of the field, e.g. `turns.3.speaker`.
        fix: What to do about it, as an imperative sentence without a trailing full stop.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: str | Path | None = None,
        line: int | None = None,
        field: str | None = None,
        fix: str | None = None,
    ) -> None:
        self.problem, self.path, self.line, self.field, self.fix = problem, path, line, field, fix
        where = "" if path is None else f"{path}:{line}: " if line else f"{path}: "
        what = f"field `{field}`: {problem}" if field else problem
        super().__init__(f"{where}{what}." + (f" {fix}." if fix else ""))

    def at(self, path: str | Path | None, line: int | None = None) -> InputError:
        """The same error with its place, for what found it without knowing the file."""
        return InputError(self.problem, path=path, line=line, field=self.field, fix=self.fix)


class FieldError(InputError, ValueError):
    """What a validator of a pydantic model raises: pydantic knows the model's place, this the rest.

    Its `field`, if any, is below the place that pydantic names.
    """


def cannot_load(
    what: str, path: str | Path, error: Exception, field: str | None = None
) -> InputError:
    """What transformers says when it finds no tokenizer or model, on one line."""
    first = str(error).strip().splitlines()[0].rstrip(".")
    fix = "Give a folder with the model's files, or the id of a model on the Hub"
    return InputError(f"cannot load the {what}: {first}", path=path, field=field, fix=fix)


def entry_point(main: Callable[P, None]) -> Callable[P, None]:
    """Turns a user's mistake that `main` meets into one line on stderr and exit code 2.

    That is an `InputError`, or the system's refusal of a path.
    """

    @functools.wraps(main)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            main(*args, **kwargs)
        except InputError as error:
            message = str(error)
        except OSError as error:
            # A full disk shows in a write, which names no file.
            full = error.errno in (errno.EDQUOT, errno.ENOSPC)
            if error.errno not in _REFUSED or not (error.filename or full):
                raise
            where = f"{error.filename}: " if error.filename else ""
            message = f"{where}{error.strerror}. Choose another path."
        else:
            return
        if os.environ.get("RANK", "0") == "0":  # every process of a launch fails alike
            print(f"error: {message}", file=sys.stderr)
        sys.exit(2)

    return wrapped
