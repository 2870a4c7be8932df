"""A table of text that can be written as Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

DASH = "–"


@dataclass(frozen=True, slots=True)
class Table:
    """Text cells under named columns."""

    name: str  # of its file
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        lines = [self.columns, tuple("---" for _ in self.columns), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"

    def csv(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return out.getvalue()

    def latex(self) -> str:
        body = [" & ".join(_escape(cell) for cell in line) + r" \\" for line in self.rows]
        head = " & ".join(_escape(cell) for cell in self.columns) + r" \\"
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{_escape(self.caption)}}}",
                rf"\begin{{tabular}}{{l{'r' * (len(self.columns) - 1)}}}",
                r"\toprule",
                head,
                r"\midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )

    def write(self, directory: Callable[[str], str]) -> None:
        """One file per format; ``directory`` makes a path of a file's name."""
        for suffix, text in (("md", self.markdown()), ("csv", self.csv()), ("tex", self.latex())):
            with open(directory(f"{self.name}.{suffix}"), "w", encoding="utf-8", newline="") as file:
                file.write(text)


def text_table(name: str, caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table without the columns that have nothing to say, such as the paper's where it prints none."""
    kept = [i for i in range(len(columns)) if not rows or any(row[i] != DASH for row in rows)]
    shown = tuple(tuple(row[i] for i in kept) for row in rows)
    return Table(name, caption, tuple(columns[i] for i in kept), shown)


_LATEX = {"±": r"$\pm$", DASH: "--", "%": r"\%", "_": r"\_", "&": r"\&", "**": ""}


def _escape(text: str) -> str:
    for plain, command in _LATEX.items():
        text = text.replace(plain, command)
    return text


def number(value: float) -> str:
    """Four significant digits without an exponent where that is short."""
    if value == 0.0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    return f"{value:.3g}"


__all__ = ["DASH", "Table", "number", "text_table"]
