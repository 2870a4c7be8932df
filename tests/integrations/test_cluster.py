"""What docs/cluster.md says about Kubernetes, MPI and watching, as far as it runs without a cluster."""

from __future__ import annotations

import copy
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from storage.postgres_server import PostgresServer

import ccgbo

from .pages import ROOT

pytestmark = pytest.mark.heavy

EXAMPLES = ROOT / "examples"
KUBERNETES = "1.33"  # the oldest that is still maintained by those who run it


@pytest.fixture
def database() -> Iterator[str]:
    server = PostgresServer()
    try:
        yield server.new_database()
    finally:
        server.close()


def manifest() -> dict[str, Any]:
    import yaml

    loaded: dict[str, Any] = yaml.safe_load((EXAMPLES / "kubernetes_job.yaml").read_text(encoding="utf-8"))
    return loaded


def container() -> dict[str, Any]:
    (found,) = manifest()["spec"]["template"]["spec"]["containers"]
    return dict(found)


def test_the_manifest_is_a_job_by_the_schema_of_kubernetes() -> None:
    import kubernetes_validate

    job = manifest()
    for version in (KUBERNETES, kubernetes_validate.latest_version()):
        kubernetes_validate.validate(job, version, strict=True)
    mistaken = copy.deepcopy(job)
    mistaken["spec"]["parallelims"] = mistaken["spec"].pop("parallelism")
    with pytest.raises(kubernetes_validate.ValidationError, match="parallelims"):
        kubernetes_validate.validate(mistaken, KUBERNETES, strict=True)


def test_the_job_keeps_the_rules_that_no_schema_knows() -> None:
    job = manifest()["spec"]
    assert job["completionMode"] == "Indexed" and job["completions"] == job["parallelism"]
    assert job["template"]["spec"]["restartPolicy"] == "Never"  # backoffLimitPerIndex is refused otherwise
    mounts = {mount["name"] for mount in container()["volumeMounts"]}
    assert mounts == {volume["name"] for volume in job["template"]["spec"]["volumes"]}
    (secret,) = (entry for entry in container()["env"] if entry["name"] == "PGPASSWORD")
    assert "value" not in secret and secret["valueFrom"]["secretKeyRef"]["key"] == "password"


def test_the_command_of_the_job_does_the_work_of_one_study(database: str) -> None:
    """As the pods would run it: what Kubernetes puts in place, put in place by hand."""
    worker = container()
    given = {entry["name"]: entry["value"] for entry in worker["env"] if "value" in entry} | {"STUDY": database}
    words = [*worker["command"], *worker["args"]]
    for name, value in given.items():
        words = [word.replace(f"$({name})", value) for word in words]
    words = [word.replace("/worker/", f"{EXAMPLES}/") for word in words]
    words = [sys.executable if word == "python" else "10" if word == "200" else word for word in words]
    pods = [
        subprocess.Popen(
            words,
            env=os.environ | given | {"JOB_COMPLETION_INDEX": str(index)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for index in range(2)
    ]
    said = [pod.communicate(timeout=300)[0] for pod in pods]
    assert [pod.returncode for pod in pods] == [0, 0], said
    assert [text.startswith(f"worker {i} on ") for i, text in enumerate(said)] == [True, True]
    with ccgbo.Study(database, name="branin") as study:
        assert [trial.state for trial in study.trials] == ["complete"] * 10


def test_the_commands_for_watching_run(database: str) -> None:
    page = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    block = re.search(r"^## Watching\n\n```bash\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    assert block is not None
    commands = [shlex.split(line, comments=True) for line in block[1].splitlines()]
    assert [words[1] for words in commands] == ["dashboard", "list", "show", "log"]
    with ccgbo.Study(database, {"x": (0.0, 1.0)}, name="resnet", seed=0) as study:
        study.run(lambda x: x, 3, progress=False)
    for words in commands[1:]:  # the dashboard on a database is tested with the storage
        words = [database if word.startswith("postgresql://") else word for word in words]
        done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert words[1] == "log" or "resnet" in done.stdout


def test_the_ranks_of_an_mpi_job_evaluate(tmp_path: Path) -> None:
    mpiexec = Path(sys.executable).parent / "mpiexec"  # of the mpich wheel
    line = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", EXAMPLES / "mpi_pool.py", "mpi.db", "12"]
    for _ in range(2):  # the second time there is nothing left to do
        done = subprocess.run([str(word) for word in line], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("12 trials on 2 ranks")
    with ccgbo.Study(tmp_path / "mpi.db", name="branin") as study:
        assert [trial.state for trial in study.trials] == ["complete"] * 12
