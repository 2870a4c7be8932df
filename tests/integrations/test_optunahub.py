"""The OptunaHub folder, by the registry's own checks: front matter, lints, types, Markdown, and that it loads."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from ccgbo.integrations.optuna import CCGBOSampler

from .pages import ROOT

pytestmark = pytest.mark.heavy

REGISTRY = ROOT / "optunahub" / "package"
PACKAGE = REGISTRY / "samplers" / "ccgbo"
TYPES = """
[mypy]
disallow_untyped_calls = True
disallow_untyped_defs = True
disallow_incomplete_defs = True
check_untyped_defs = True
no_implicit_optional = True
warn_redundant_casts = True
strict_equality = True
extra_checks = True
no_implicit_reexport = True
ignore_missing_imports = True
explicit_package_bases = True
"""


def test_optunahub_loads_the_folder_and_its_example_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    import optunahub

    local = optunahub.load_local_module  # the hub itself is out of reach: the same loader on the folder
    monkeypatch.setattr(optunahub, "load_module", lambda package: local(package, registry_root=str(REGISTRY)))
    names = runpy.run_path(str(PACKAGE / "example.py"), run_name="__main__")
    assert isinstance(names["study"].sampler, CCGBOSampler)
    assert names["study"].best_value < 0.5


def test_the_front_matter_has_what_the_registry_asks_for() -> None:
    import frontmatter
    import optuna

    head = frontmatter.load(str(PACKAGE / "README.md")).metadata
    assert {name for name, value in head.items() if value} >= {
        *("author", "title", "description", "tags", "optuna_versions", "license")
    }
    assert "sampler" in head["tags"]
    assert all(isinstance(v, str) for v in [*head["tags"], *head["optuna_versions"]])
    assert optuna.__version__ in head["optuna_versions"]
    assert head["license"] == (PACKAGE / "LICENSE").read_text(encoding="utf-8").splitlines()[0]


def test_the_sections_are_those_of_the_template_and_hold_no_html() -> None:
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    sections = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert sections == ["Abstract", "APIs", "Installation", "Example", "Others"]
    assert "<" not in text.replace("<=", "")


def test_the_readme_names_every_argument_of_the_sampler() -> None:
    import inspect

    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    arguments = [name for name in inspect.signature(CCGBOSampler).parameters if name != "settings"]
    assert [name for name in arguments if f"- `{name}`:" not in text] == []


def test_the_markdown_is_formatted_as_the_registry_formats_it(tmp_path: Path) -> None:
    copy = tmp_path / "README.md"
    copy.write_bytes((PACKAGE / "README.md").read_bytes())
    done = subprocess.run([sys.executable, "-m", "mdformat", "--check", copy], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("check", [["check"], ["format", "--check"]], ids=["lint", "format"])
def test_the_lints_of_the_registry_pass(check: list[str]) -> None:
    config = str(ROOT / "optunahub" / "ruff.toml")
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *check, "--config", config, str(REGISTRY)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_the_types_pass_with_the_settings_of_the_registry(tmp_path: Path) -> None:
    config = tmp_path / "mypy.ini"
    config.write_text(TYPES, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", str(tmp_path), "package"],
        cwd=REGISTRY.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
