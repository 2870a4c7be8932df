"""``python -m ccgbo.bench``."""

from ccgbo.bench.cli import bench

bench(prog_name="python -m ccgbo.bench")
