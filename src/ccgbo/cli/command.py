"""An external program as an objective: its arguments from the parameters, its value from what it prints.

No shell is involved: every argument is passed as it is, so a parameter's value can never become a command.

    python train.py --lr {lr}          {name} is replaced by the value of that parameter, {{name}} stays as {name}
    CCGBO_PARAMS                       all parameters as JSON, in the program's environment

A conditional parameter that is inactive leaves its place empty.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any, Self

from ccgbo.cli.groups import Groups
from ccgbo.errors import SettingError
from ccgbo.running import CannotEvaluate, Reported

Parser = Callable[[str], Any]

NAME = r"[^\W\d][\w.-]*|\w+"  # what looks like a parameter although there is none of that name
# a number that stands alone: neither part of a word such as v2 or 12s, nor of a file name such as run-3.pt
NUMBER = re.compile(
    r"(?<![\w.+-])[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|inf(?:inity)?)(?!\w|\.\w)", re.IGNORECASE
)
TAIL = 20  # lines of standard error kept with a failure
CANNOT_START = (errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR)


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
        self._places = places(names)
        for argument in arguments:
            for _, name in self._places.findall(argument):
                if name and name not in names:
                    raise SettingError(
                        f"{{{name}}} in {argument!r} must be a parameter of the space, one of {list(names)!r}; "
                        f"write {{{{{name}}}}} to pass {{{name}}} itself."
                    )
        self._arguments, self._parse, self._timeout = list(arguments), parse, timeout
        self._fixed = not self._places.search(arguments[0])  # else the parameters choose the program
        self._groups = Groups()

    def check(self) -> None:
        """That the program is there, before a trial is spent on finding out."""
        program = self._arguments[0]
        if self._fixed and shutil.which(program) is None:
            there = os.path.dirname(program) and os.path.exists(program)
            why = "it is not an executable file" if there else "there is no such program"
            raise CannotEvaluate(f"cannot start {program!r}: {why}.")

    def __call__(self, /, **params: Any) -> Any:
        arguments = [fill(argument, params, self._places) for argument in self._arguments]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = self._start(arguments, params, out, err)
            try:
                in_time = self._groups.wait(child, self._timeout)
            finally:
                self._groups.end(child)
            if not in_time:
                raise CommandFailed(f"stopped after {self._timeout:g} s")
            if self._groups.stopped.is_set():
                raise KeyboardInterrupt
            if child.returncode != 0:
                raise CommandFailed("\n".join([_status(child.returncode), *_text(err).splitlines()[-TAIL:]]))
            return self._parse(_text(out))

    def _start(
        self, arguments: list[str], params: Mapping[str, Any], out: IO[bytes], err: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        environment = os.environ | {"CCGBO_PARAMS": json.dumps(params)}
        try:
            return self._groups.start(arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment)
        except OSError as error:
            message = f"cannot start {arguments[0]!r}: {error.strerror}"
            if self._fixed and error.errno in CANNOT_START:
                raise CannotEvaluate(message + ".") from None
            raise CommandFailed(message) from None
        except ValueError as error:  # a zero byte in a value, or what no file system can spell
            raise CommandFailed(f"cannot pass the parameters to {arguments[0]!r}: {error}") from None

    def stop(self) -> None:
        """End every program that still runs, with its descendants; its trial is released."""
        self._groups.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._groups.stop()
        self._groups.close()


def places(names: Sequence[str]) -> re.Pattern[str]:
    """Finds {{name}} (first group) and {name} (second group), for parameters of any name."""
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    name = f"{known}|{NAME}" if known else NAME
    return re.compile(rf"\{{\{{({name})\}}\}}|\{{({name})\}}")


def fill(argument: str, params: Mapping[str, Any], where: re.Pattern[str]) -> str:
    """The argument with its places filled."""

    def value(match: re.Match[str]) -> str:
        literal, name = match.groups()
        if literal is not None:
            return f"{{{literal}}}"
        found = params.get(name, "")
        return found if isinstance(found, str) else json.dumps(found)

    return where.sub(value, argument)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace").replace("\r\n", "\n")


def _status(code: int) -> str:
    if code > 0:
        return f"exit status {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:  # a real-time signal has no name
        return f"killed by signal {-code}"


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
    return lambda out: _float(_json_value(out, key), key)


def by_json_keys(keys: Mapping[str, str]) -> Parser:
    """Metrics, each by its key; null was not measured."""

    def parse(out: str) -> dict[str, float | None]:
        found = {name: _json_value(out, key) for name, key in keys.items()}
        return {name: None if value is None else _float(value, keys[name]) for name, value in found.items()}

    return parse


def by_metric_names(names: Sequence[str]) -> Parser:
    """Metrics by their names in the last JSON object printed that has one of them; null and what is left out was not
    measured."""

    def parse(out: str) -> dict[str, float | None]:
        for found in _json_objects(out):
            told = {name: found[name] for name in names if isinstance(found, Mapping) and name in found}
            if told:
                return {name: None if value is None else _float(value, name) for name, value in told.items()}
        raise CommandFailed(f"no JSON object with one of {list(names)!r} was printed: {_shorten(out)}")

    return parse


def _json_objects(out: str) -> Iterator[Any]:
    """What was printed as JSON: all of it, or its lines, the last first."""
    for text in (out, *reversed(out.splitlines())):
        with contextlib.suppress(ValueError, RecursionError):
            yield json.loads(text)


def _json_value(out: str, key: str) -> Any:
    for found in _json_objects(out):
        with contextlib.suppress(KeyError, TypeError):
            for part in key.split("."):
                found = found[part]
            return found
    raise CommandFailed(f"no JSON object with {key!r} was printed: {_shorten(out)}")


def _float(found: Any, what: str) -> float:
    try:
        return float(found)
    except (TypeError, ValueError):
        raise CommandFailed(f"{what!r} gives {found!r}, which is not a number") from None


def _shorten(out: str) -> str:
    lines = out.strip().splitlines()
    return repr(lines[-1][-200:]) if lines else "nothing was printed"
