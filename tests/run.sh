#!/usr/bin/env bash
# Sets up once, then runs all tests; arguments are passed on to pytest.

set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../binaries/setup_venv.sh"
setup_venv requirements.txt tests/requirements.txt
cd "$ROOT"

# A file of tests in one process, three files at a time: some wait for programs
# that they start. conftest.py puts them in order.
exec "$PYTHON" -m pytest -n 3 --dist=loadfile --no-loadscope-reorder "$@"
