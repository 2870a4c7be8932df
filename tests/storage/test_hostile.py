"""Files that somebody damaged or prepared: ours is the error, and nothing in them runs."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ccgbo

SPACE: dict[str, Any] = {"x": (0.0, 1.0), "k": ["a", "b"], "n": (1, 5)}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "template.db"
    prior = {"x": ccgbo.NormalPrior(0.5, 0.1)}
    with ccgbo.Study(path, SPACE, seed=0, n_initial=4, prior=prior) as study:
        for i in range(7):
            study.tell(study.ask(), float(i % 3))
        study.tell(study.ask(), failed=True, error="boom")
        study.ask()
        study.amend(3, [1.0, 2.0], note="oven 3", tags=["repeat"])
        study.drop(2)
        study.enqueue({"x": 0.5, "k": "a", "n": 1})
        study.change_space({**SPACE, "x": (0.0, 2.0)})
    return path


@contextlib.contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


# -- anything in any cell


CELLS: list[Any] = [
    *(None, "", "null", "5", "[]", "{}", "{", "NaN", '"x"', "true", '{"a":' * 2000, b"\xff\x00", "1e400"),
    *(-1, 2**63 - 1, -(2**63), 1e308, float("inf"), "pending", "complete", "x" * 10_000, "[1,2]", '{"x":0.5}'),
    *('{"version":1}', '{"parameters":{}}', '{"x":0.5},{"x":1}', '{"x":9,"k":"a","n":1}', '{"type":"settings"}'),
]
PARTS: list[Any] = [None, -1, 0, 1e308, 2**70, "x", [], {}, True, float("nan"), 1e-300, [1, [2]], {"type": "ucb"}]


def paths_in(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from paths_in(value, (*path, key))


def mutated(cell: Any, chance: random.Random) -> Any:
    """The cell with another content, or with one part of its JSON exchanged or taken out."""
    try:
        data = json.loads(cell)
        path = chance.choice(list(paths_in(data)))
    except (TypeError, ValueError, IndexError):
        return chance.choice(CELLS)
    if chance.random() < 0.4:
        return chance.choice(CELLS)
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    if chance.random() < 0.1:
        del inner[path[-1]]
    else:
        inner[path[-1]] = chance.choice(PARTS)
    return json.dumps(data)


def damage(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    table = chance.choice(["studies", "trials", "trials", "events"])
    key = "seq" if table == "events" else "id"
    with opened(path) as connection:
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        column = chance.choice([c for c in columns if c != "settings"])  # its values have rules of their own
        row = chance.choice(connection.execute(f"SELECT {key} FROM {table}").fetchall())[0]
        cell = connection.execute(f"SELECT {column} FROM {table} WHERE {key} = ?", (row,)).fetchone()[0]
        value = mutated(cell, chance)
        connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {key} = ?", (value, row))


def use(path: Path) -> None:
    ccgbo.list_studies(path)
    with ccgbo.Study(path) as study:
        str(study.trials)
        list(map(str, study.log()))
        [str(trial.explanation) for trial in study.trials]
        study.recommend()
        study.credits()
        study.release()
        study.ask()
        study.run(lambda **params: params["x"], 10, progress=False)


@pytest.mark.parametrize("seed", range(60))
def test_a_file_with_any_cell_changed_works_or_gives_an_error_of_ours(
    template: Path, tmp_path: Path, seed: int
) -> None:
    path = tmp_path / "s.db"
    shutil.copy(template, path)
    with contextlib.suppress(sqlite3.IntegrityError, ccgbo.CcgboError):  # refused by the file's own rules, or by ours
        damage(path, seed)
        use(path)


@pytest.mark.parametrize(
    ("table", "column", "value", "message"),
    [
        ("studies", "space", "{", "study 'default', column space cannot be read"),
        ("studies", "space", '{"parameters": {"x": {"type": "float"}}}', "study 'default', column space cannot be"),
        ("studies", "direction", "sideways", "study 'default', column direction holds 'sideways'"),
        ("studies", "settings", "[]", r"study 'default', column settings holds \[\]"),
        ("studies", "optimizer_state", '{"version": 2}', "study 'default', column optimizer_state .*must have 'rng'"),
        ("studies", "withheld", '["world"]', "column withheld holds"),
        ("studies", "revision", "many", "column revision"),
        ("trials", "params", "{", "study 'default', trial 3, column params cannot be read"),
        ("trials", "state", "finished", "study 'default', trial 3, column state holds 'finished'"),
        ("trials", "value", None, "trial 3, .*the value of a complete trial is None"),
        ("trials", "value", "high", "trial 3, column value holds 'high'"),
        ("trials", "explanation", '{"reason": 3}', "trial 3, .*explanation, .* cannot be read .*reason is 3"),
        ("trials", "dropped", 2, "trial 3, column dropped holds 2"),
        ("trials", "readings", '[1.0, "2"]', "trial 3, .*cannot be read .*readings are"),
        ("trials", "readings", "[1.0]", "trial 3, .*a complete trial has the readings"),
        ("trials", "attributes", '{"tags": "a"}', "trial 3, .*cannot be read .*attributes are"),
        ("events", "at", 1e300, "study 'default', event 1, column at holds 1e"),
        ("events", "who", b"\xff", "study 'default', event 1, column who holds b"),
        ("events", "before", "[]", r"study 'default', event 1, column before holds \[\]"),
        ("events", "after", "{", "study 'default', event 1, column after cannot be read"),
        ("trials", "asked_at", 1e300, "trial 3, column asked_at holds 1e"),
        ("trials", "asked_at", "now", "trial 3, column asked_at holds 'now'"),
    ],
)
def test_an_error_names_the_file_the_study_and_the_column(
    template: Path, tmp_path: Path, table: str, column: str, value: Any, message: str
) -> None:
    path = tmp_path / "s.db"
    shutil.copy(template, path)
    with opened(path) as connection:
        connection.execute(f"UPDATE {table} SET {column} = ?" + (" WHERE id = 3" * (table == "trials")), (value,))
    with pytest.raises(ccgbo.StorageError, match=message) as caught:
        look(path)
    assert str(path) in str(caught.value)


def look(path: Path) -> None:
    with ccgbo.Study(path) as study:
        study.log()
        study.recommend()


# -- things in a file that would run


ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"


@pytest.mark.parametrize(
    ("name", "statements"),
    [
        (
            "view studies",
            f"ALTER TABLE studies RENAME TO s; CREATE VIEW studies AS {ENDLESS} SELECT s.* FROM s, r WHERE r.n < 0",
        ),
        ("trigger bomb", "CREATE TRIGGER bomb AFTER UPDATE ON trials BEGIN DELETE FROM trials WHERE id < 10; END"),
        (
            "trigger bomb",
            "CREATE TRIGGER bomb AFTER INSERT ON trials BEGIN "
            f"SELECT count(*) FROM ({ENDLESS} SELECT n FROM r WHERE n < 0); END",
        ),
        ("table trials", "ALTER TABLE trials ADD COLUMN g GENERATED ALWAYS AS (hex(zeroblob(100))) VIRTUAL"),
        ("table more", "CREATE TABLE more (id INTEGER)"),
        ("index odd", "CREATE INDEX odd ON trials (abs(value))"),
        ("index trials_pending", "DROP INDEX trials_pending"),
    ],
)
def test_a_file_with_other_things_than_a_study_file_has_is_refused_unharmed(
    template: Path, tmp_path: Path, name: str, statements: str
) -> None:
    path = tmp_path / "s.db"
    shutil.copy(template, path)
    with opened(path) as connection:
        connection.executescript(statements)
    before = path.read_bytes()
    for use in (ccgbo.Study, ccgbo.list_studies):
        with pytest.raises(ccgbo.StorageError, match=rf"other tables, indexes, views or triggers .*{name}"):
            use(path)
    assert path.read_bytes() == before


def test_statistics_that_sqlite_keeps_are_welcome(template: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    shutil.copy(template, path)
    with opened(path) as connection:
        connection.execute("ANALYZE")
    use(path)


def test_a_cell_that_would_fill_the_memory_is_not_read(template: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    shutil.copy(template, path)
    with opened(path) as connection:
        connection.execute("UPDATE trials SET error = CAST(zeroblob(70000000) AS TEXT) WHERE id = 7")
    with pytest.raises(ccgbo.StorageError, match="too big"), ccgbo.Study(path) as study:
        str(study.trials)


# -- arguments


@pytest.mark.parametrize("path", ["a\0b.db", "x" * 5000, f"{'y' * 300}.db"])
def test_a_path_that_cannot_be_is_refused_before_anything_is_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ccgbo.StorageError):
        ccgbo.Study(path, SPACE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a?b#c%41 ü&mode=ro.db", "caf\udce9.db", "file:x.db"])
def test_any_name_that_the_disk_takes_is_a_path(tmp_path: Path, name: str) -> None:
    for path in (tmp_path / name, Path(f"/{tmp_path}") / name):
        with ccgbo.Study(path, SPACE, seed=0) as study:
            study.ask()
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "red\x1b[31m", "two\nlines", "", 5])
def test_a_name_that_no_terminal_can_show_is_refused(tmp_path: Path, name: Any) -> None:
    with pytest.raises(ccgbo.SettingError, match="name must"):
        ccgbo.Study(tmp_path / "s.db", SPACE, name=name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("heartbeat", [0, -1.0, float("inf"), float("nan"), "60", None, True])
def test_a_heartbeat_is_a_number_of_seconds(tmp_path: Path, heartbeat: Any) -> None:
    with pytest.raises(ccgbo.SettingError, match="heartbeat must be a finite number of seconds > 0"):
        ccgbo.Study(tmp_path / "s.db", SPACE, heartbeat=heartbeat)


def test_if_exists_is_one_of_its_words(tmp_path: Path) -> None:
    with pytest.raises(ccgbo.SettingError, match="if_exists must be 'open' or 'error', got 'bogus'"):
        ccgbo.Study(tmp_path / "s.db", SPACE, if_exists="bogus")  # type: ignore[arg-type]


def test_ids_and_errors_of_any_kind_are_answered_in_our_words(tmp_path: Path) -> None:
    with ccgbo.Study(tmp_path / "s.db", SPACE, seed=0) as study:
        trial = study.ask()
        for unknown in (2**63, 2**80, -1):
            with pytest.raises(ccgbo.UnknownTrialError, match=f"no trial is known as {unknown}"):
                study.tell(unknown, 1.0)
            with pytest.raises(ccgbo.UnknownTrialError):
                study.release(unknown)
        told = study.tell(trial, failed=True, error="caf\udce9")
        assert told.error == "caf\\udce9"
        assert study.trials == (told,)


def test_a_run_records_an_exception_whose_text_is_no_unicode(tmp_path: Path) -> None:
    def f(**_: Any) -> float:
        raise OSError("no such file: caf\udce9.csv")

    with ccgbo.Study(tmp_path / "s.db", SPACE, seed=0) as study:
        study.run(f, 2, progress=False)
        assert [t.state for t in study.trials] == ["failed", "failed"]
        assert "caf\\udce9.csv" in str(study.trials[0].error)
