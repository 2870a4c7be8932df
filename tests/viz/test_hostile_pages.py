"""Reports of metrics that nobody hopes for, drawn by a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile_metrics import BOX, FAST, KINDS, play

from ccgbo import Optimizer
from ccgbo.viz import write_report

from .browser import Browser


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "width"),
    [
        ("metrics as large as numbers go", 1400),
        ("metrics of 1e-300", 400),
        ("nothing but constants", 1400),
        ("all infeasible by any measure", 400),
        ("NaN in some metrics", 1400),
    ],
)
def test_the_report_is_drawn_without_a_complaint(page: Browser, tmp_path: Path, name: str, width: int) -> None:
    goal, f = KINDS[name]
    opt = Optimizer(BOX, seed=0, **goal, **FAST)
    play(opt, f)
    page.complaints()
    page.open(write_report(opt, tmp_path / "report.html").as_uri())
    page.whole_page(width)
    assert page.layout_faults() == []
    assert page.complaints() == []
