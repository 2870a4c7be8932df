"""An external program as an objective: its arguments from the parameters, its value from what it prints.

No shell is involved: every argument is passed as it is, so a parameter's value can never become a command.

    python train.py --lr {lr}          {name} is replaced by the value of that parameter, {{name}} stays as {name}
    CCGBO_PARAMS                       all parameters as JSON, in the program's environment

A conditional parameter that is inactive leaves its place empty.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from typing import Any

from ccgbo.errors import SettingError
from ccgbo.running import Reported

Parser = Callable[[str], float]

PLACE = re.compile(r"\{\{(\w+)\}\}|\{(\w+)\}")
# a number that stands alone: neither part of a word such as v2 or 12s, nor of a file name such as run-3.pt
NUMBER = re.compile(
    r"(?<![\w.+-])[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|inf(?:inity)?)(?!\w|\.\w)", re.IGNORECASE
)
TAIL = 20  # lines of standard error kept with a failure


class CommandFailed(Reported):
    """The program failed, or printed no value."""


class Command:
    """``f(**params)`` for ``ccgbo.Study.run``."""

    def __init__(
        self,
        arguments: Sequence[str],
        names: Sequence[str],  # of the space's parameters
        *,
        parse: Parser,
        timeout: float | None = None,  # seconds for one evaluation
    ) -> None:
        for argument in arguments:
            for _, name in PLACE.findall(argument):
                if name and name not in names:
                    raise SettingError(
                        f"{{{name}}} in {argument!r} must be a parameter of the space, one of {list(names)!r}; "
                        f"write {{{{{name}}}}} to pass {{{name}}} itself."
                    )
        self._arguments, self._parse, self._timeout = list(arguments), parse, timeout
        self._children: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()

    def __call__(self, **params: Any) -> float:
        arguments = [fill(argument, params) for argument in self._arguments]
        try:
            child = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env=os.environ | {"CCGBO_PARAMS": json.dumps(params)},
                start_new_session=True,  # Ctrl-C is ours to handle, and a stop reaches the program's own children
            )
        except OSError as error:
            raise CommandFailed(f"cannot start {arguments[0]!r}: {error.strerror}") from None
        with self._lock:
            self._children.add(child)
        try:
            out, err = child.communicate(timeout=self._timeout)
        except subprocess.TimeoutExpired:
            raise CommandFailed(f"stopped after {self._timeout:g} s") from None
        finally:
            _kill(child)
            for stream in (child.stdout, child.stderr):
                if stream is not None:
                    stream.close()
            with self._lock:
                self._children.discard(child)
        if child.returncode != 0:
            raise CommandFailed("\n".join([_status(child.returncode), *err.splitlines()[-TAIL:]]))
        return self._parse(out)

    def stop(self) -> None:
        """End every program that still runs."""
        with self._lock:
            for child in self._children:
                _kill(child)


def fill(argument: str, params: dict[str, Any]) -> str:
    """The argument with its places filled."""

    def value(match: re.Match[str]) -> str:
        literal, name = match.groups()
        if literal is not None:
            return f"{{{literal}}}"
        found = params.get(name, "")
        return found if isinstance(found, str) else json.dumps(found)

    return PLACE.sub(value, argument)


def _kill(child: subprocess.Popen[str]) -> None:
    """End the program and its children; nothing happens if they ended themselves."""
    if child.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
    child.wait()


def _status(code: int) -> str:
    return f"exit status {code}" if code > 0 else f"killed by {signal.Signals(-code).name}"


# -- the value in what was printed


def last_number(out: str) -> float:
    """The last number that stands alone."""
    found = NUMBER.findall(out)
    if not found:
        raise CommandFailed(f"printed no number: {_shorten(out)}")
    return float(found[-1])


def by_regex(pattern: str) -> Parser:
    """The last match; its first group, or all of it."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise SettingError(f"value_regex must be a regular expression, got {pattern!r}: {error}.") from None

    def parse(out: str) -> float:
        matches = list(compiled.finditer(out))
        if not matches:
            raise CommandFailed(f"nothing printed matches {pattern!r}: {_shorten(out)}")
        return _float(matches[-1].group(1 if compiled.groups else 0), pattern)

    return parse


def by_json_key(key: str) -> Parser:
    """``a.b`` of the last JSON object printed: all that was printed, or one line of it."""

    def parse(out: str) -> float:
        for text in (out, *reversed(out.splitlines())):
            with contextlib.suppress(ValueError, KeyError, TypeError):
                found = json.loads(text)
                for part in key.split("."):
                    found = found[part]
                return _float(found, key)
        raise CommandFailed(f"no JSON object with {key!r} was printed: {_shorten(out)}")

    return parse


def _float(found: Any, what: str) -> float:
    try:
        return float(found)
    except (TypeError, ValueError):
        raise CommandFailed(f"{what!r} gives {found!r}, which is not a number") from None


def _shorten(out: str) -> str:
    lines = out.strip().splitlines()
    return repr(lines[-1][-200:]) if lines else "nothing was printed"
