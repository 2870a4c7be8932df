"""A real PostgreSQL server for tests: made, started and stopped here, on a Unix socket in a folder of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import psycopg
import pytest

USER, PASSWORD = "ccgbo", "s3cret-w0rd"


def server_programs() -> Path:
    """Where initdb and pg_ctl are; Debian keeps them out of PATH."""
    found = shutil.which("pg_ctl")
    places = [Path(found).resolve().parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for place in places:
        if (place / "initdb").exists() and (place / "pg_ctl").exists():
            return place
    pytest.fail("PostgreSQL's initdb and pg_ctl are missing; on Debian: apt-get install postgresql")


def unprivileged() -> dict[str, Any]:
    """Whom to run the server as: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = names.get("postgres") or names["nobody"]
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class PostgresServer:
    """A server whose user has a password."""

    def __init__(self) -> None:
        self._programs, self._identity = server_programs(), unprivileged()
        self.home = Path(tempfile.mkdtemp(prefix="ccgbo-pg-"))  # pytest's own directories are closed to other users
        if self._identity:
            os.chown(self.home, self._identity["user"], self._identity["group"])
        secret = self.home / "secret"
        secret.write_text(PASSWORD, encoding="utf-8")
        secret.chmod(0o644)
        self._databases = 0
        self._call(
            "initdb", "--auth=scram-sha-256", f"--username={USER}", f"--pwfile={secret}", "--encoding=UTF8", "--no-sync"
        )
        self.start()

    def _call(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), "-D", str(self.home / "data"), *arguments]
        with open(self.home / f"{program}.out", "ab") as out:  # a pipe would stay open in the server
            done = subprocess.run(command, stdout=out, stderr=out, cwd=self.home, timeout=60, **self._identity)
        assert done.returncode == 0, (self.home / f"{program}.out").read_text()

    def start(self) -> None:
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.home}' -c fsync=off -c max_connections=60"
        options += " -c wal_writer_delay=10s"  # what nobody waits for is lost in a crash, as with a slow disk
        self._call("pg_ctl", "--wait", f"--log={self.home}/server.log", f"--options={options}", "start")

    def stop(self, mode: str = "fast") -> None:
        self._call("pg_ctl", "--wait", f"--mode={mode}", "stop")

    def restart(self, mode: str = "fast") -> None:
        self.stop(mode)
        self.start()

    def address(self, database: str, *, password: bool = True) -> str:
        user = f"{USER}:{PASSWORD}" if password else USER
        return f"postgresql://{user}@/{database}?host={self.home}"

    def new_database(self) -> str:
        """The address of an empty database, with its password."""
        self._databases += 1
        name = f"t{self._databases}"
        self.sql("postgres", f"CREATE DATABASE {name}")
        return self.address(name)

    def sql(self, database: str, statement: str) -> list[Any]:
        address = database if "://" in database else self.address(database)
        with psycopg.connect(address, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        self.stop("immediate")
        shutil.rmtree(self.home)
