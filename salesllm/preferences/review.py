"""Stage `review`: a person goes through the pairs in a terminal, one key a decision."""

from __future__ import annotations

import os
import select
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TextIO

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from salesllm.errors import InputError
from salesllm.preferences.decisions import Decisions, context, decided
from salesllm.preferences.pairs import Pair, Verdict

KEYS = "[a]ccept  [e]dit  [r]eject  [s]kip  [b]ack  [q]uit"
_TAIL = 6  # turns of the context on the screen


class Person(Protocol):
    """Whoever decides."""

    def key(self) -> str:
        """The next key pressed; empty where there is nobody any more."""
        ...

    def edit(self, text: str) -> str:
        """The text as the person leaves it."""
        ...


class Terminal:
    """A person at a terminal, whose keys count without Enter.

    Raises:
        InputError: There is no terminal.
    """

    def __init__(self, stdin: TextIO = sys.stdin, stdout: TextIO = sys.stdout) -> None:
        if not (stdin.isatty() and stdout.isatty()):
            fix = "Run it in one, or use --export_csv FILE and --import_csv FILE"
            raise InputError("a review needs a terminal", field="stage", fix=fix)
        self._stdin = stdin

    def key(self) -> str:
        import termios
        import tty

        descriptor = self._stdin.fileno()
        before = termios.tcgetattr(descriptor)
        try:
            tty.setcbreak(descriptor)
            key = os.read(descriptor, 1)
            # An arrow key sends ESC [ A: its last letter is no decision.
            while key == b"\x1b" and select.select([descriptor], [], [], 0.05)[0]:
                os.read(descriptor, 1)
            return key.decode(errors="ignore")
        finally:
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)

    def edit(self, text: str) -> str:
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        return _in_editor(editor, text) if editor else _on_a_line(text)


def _in_editor(editor: str, text: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chosen.txt"
        path.write_text(f"{text}\n", encoding="utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(path)], check=True)
            return path.read_text(encoding="utf-8").strip()
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            fix = "Set $EDITOR to one that works, or unset it to edit on a line"
            raise InputError(f"the editor {editor!r} failed: {error}", fix=fix) from None


def _on_a_line(text: str) -> str:
    import readline

    readline.set_startup_hook(lambda: readline.insert_text(text))
    try:
        return input("> ").strip()
    except EOFError:
        return text
    finally:
        readline.set_startup_hook()


def review(
    pairs: Sequence[Pair], decisions: Decisions, person: Person, console: Console
) -> dict[str, int]:
    """Shows every open pair until all are decided or skipped, or the person quits.

    Returns:
        Pairs by decision, those of earlier reviews included.
    """
    shown: list[int] = []
    at = _next_open(pairs, decisions, 0)
    while at < len(pairs):
        _show(pairs, at, decisions, console)
        key = _ask(person, console)
        if key == "q":
            break
        if key == "b":
            if not shown:
                console.print("This is the first one.")
                continue
            at = shown.pop()
            continue
        if key != "s" and not _decide(pairs[at], key, decisions, person, console):
            continue
        shown.append(at)
        at = _next_open(pairs, decisions, at + 1)
    counts = decisions.counts(pairs)
    console.print(", ".join(f"{count} {name}" for name, count in counts.items()))
    return counts


def _next_open(pairs: Sequence[Pair], decisions: Decisions, start: int) -> int:
    still = (i for i in range(start, len(pairs)) if decisions.get(pairs[i]) is None)
    return next(still, len(pairs))


def _ask(person: Person, console: Console) -> str:
    while True:
        key = person.key().lower()
        if key in ("", "\x04"):  # the end of the input
            return "q"
        if key in "aersbq":
            return key
        console.print(KEYS, markup=False)


def _decide(pair: Pair, key: str, decisions: Decisions, person: Person, console: Console) -> bool:
    """Keeps the decision; False where there is none after all."""
    before = decisions.get(pair)
    text = before.chosen if before else pair.chosen
    try:
        if key == "r":
            decision = decided(pair, "reject", text)
        else:
            decision = decided(pair, "accept", person.edit(text) if key == "e" else text)
    except InputError as error:
        console.print(str(error), style="red", markup=False)
        return False
    decisions.put(pair, decision)
    return True


def _show(pairs: Sequence[Pair], at: int, decisions: Decisions, console: Console) -> None:
    pair, decision = pairs[at], decisions.get(pairs[at])
    console.rule(f"{at + 1} of {len(pairs)}  {pair.scenario_id}  turn {pair.turn}")
    console.print(context(pair, _TAIL), style="dim", markup=False)
    sides = {"chosen": decision.chosen if decision else pair.chosen, "rejected": pair.rejected}
    for (side, text), style in zip(sides.items(), ("green", "red"), strict=True):
        title = f"{side}, {_words(pair.verdicts.get(side))}"  # type: ignore[call-overload]
        console.print(Panel(escape(text), title=escape(title), style=style, title_align="left"))
    if decision:
        console.print(f"So far: {decision.choice}")
    console.print(KEYS, markup=False)


def _words(verdict: Verdict | None) -> str:
    if verdict is None:
        return "not judged"
    role = "inverted" if verdict.inverted else "in role"
    return f"{role}, {verdict.likeness}/10: {verdict.reason}"
