#!/bin/sh
# Installs the one wheel of a folder into an empty environment and uses it from another folder.
set -eu
wheel=$(ls "$PWD/${1:-dist}"/*.whl)
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
"${PYTHON:-python3}" -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel"
cd "$room"
venv/bin/ccgbo --version
venv/bin/python - <<'PY'
from importlib.resources import files

import ccgbo

result = ccgbo.maximize(lambda x: -((x - 0.3) ** 2), {"x": (0.0, 1.0)}, n_trials=15, seed=0, progress=False)
assert abs(result.best_params["x"] - 0.3) < 0.05, result
assert "venv" in ccgbo.__file__, ccgbo.__file__
assert files("ccgbo").joinpath("py.typed").is_file()
assert files("ccgbo.bench").joinpath("experiments", "ausr.toml").is_file()
print(result)
PY
