"""Frozen records of whether to believe the model, and whether to stop; values are in the user's units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ccgbo.markup import block, lines
from ccgbo.text import count

Kind = Literal[
    "few observations",
    "never measured",
    "no better than the mean",
    "too sure",
    "too unsure",
    "noise",
    "bound",
    "never varied",
    "never apart",
    "hardly tried",
    "failures",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What the model expects of an observation when it knows only the others."""

    trial_id: int
    value: float
    """What was observed."""
    mean: float
    std: float
    """Standard deviation of what would be observed: the model's uncertainty and the noise."""
    low: float
    """The lower end of the 95 % band."""
    high: float

    @property
    def inside(self) -> bool:
        """Whether the observation lies in the 95 % band."""
        return self.low <= self.value <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """Something that speaks against the model, or that could be done better."""

    kind: Kind
    text: str
    parameters: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What more evaluations are expected to gain: how much better the recommended point becomes."""

    n: int
    """How many more evaluations."""
    mean: float
    """The expected gain, in the unit of the values; in either direction a gain is positive."""
    low: float
    """In one of ten functions that fit the observations the gain is less."""
    high: float
    """In one of ten it is more."""
    error: float
    """Standard error of the mean over these functions."""
    unit: Literal["value", "hypervolume"] = "value"
    """What it is a gain of: of several objectives it is a share of the hypervolume of the present front."""

    def __str__(self) -> str:
        verb, (mean, high) = "is" if self.n == 1 else "are", self.words()
        return (
            f"another {count(self.n, 'evaluation')} {verb} expected to gain {mean}, and more than {high} in one of ten "
            "functions that fit"
        )

    def words(self) -> tuple[str, str]:
        """The mean and the high end: ``0.025``, or ``3 % of the hypervolume``."""
        mean, high = (max(x, 0.0) for x in (self.mean, self.high))
        if self.unit == "value":
            return f"{mean:.2g}", f"{high:.2g}"
        return f"{_percent(mean)} of the hypervolume", _percent(high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Whether to believe the model, and whether to stop."""

    n: int
    """Observations in the model."""
    left_out: tuple[LeftOut, ...]
    """Each observation as predicted from the others; none where the surrogate cannot tell."""
    r2: float | None
    """The share of the variation that these predictions explain: 1 all of it, 0 no more than the mean of the others.
    On the scale of the model, where outliers are drawn in; None where it is undefined."""
    coverage: Mapping[int, float]
    """The share of observations inside the bands of 50, 80 and 95 %."""
    noise: float | None
    """Standard deviation of the noise."""
    concerns: tuple[Concern, ...]
    gains: tuple[Gain, ...]
    """What another 10 and another 25 evaluations are expected to gain; none where the surrogate cannot tell."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)

    def summary(self) -> list[str]:
        """How well the model predicts, in plain sentences."""
        if self.r2 is None:
            return [f"How well the model predicts cannot be told from {count(self.n, 'observation')}."]
        share = f"{100 * max(self.r2, 0.0):.0f} %"
        shares = [f"{100 * self.coverage[band]:.0f} % in its {band} % band" for band in sorted(self.coverage)]
        inside = f"{', '.join(shares[:-1])} and {shares[-1]}"
        return [
            f"Predicting each of {self.n} observations from the others, the model explains {share} of their variation"
            f" (R² {self.r2:.2f}).",
            f"What was observed lies as follows: {inside}.",
        ]

    def _repr_html_(self) -> str:
        warnings = [f"Warning: {concern}" for concern in self.concerns] or ["No warnings."]
        stop = block("Stop?", lines(*map(str, self.gains))) if self.gains else ""
        return block("Believe the model?", lines(*self.summary(), *warnings)) + stop

    def __str__(self) -> str:
        said = ["Believe the model?", *(f"  {line}" for line in self.summary())]
        said += [f"  Warning: {concern}" for concern in self.concerns] or ["  No warnings."]
        if self.gains:
            said += ["Stop?", *(f"  {str(gain)[0].upper()}{str(gain)[1:]}." for gain in self.gains)]
        return "\n".join(said)


def _percent(share: float) -> str:
    """``3.2 %``, ``410 %``: two digits, and no power of ten."""
    return f"{float(f'{100.0 * share:.2g}'):g} %"
