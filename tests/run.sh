#!/usr/bin/env bash
# Sets up once, then runs all tests; arguments are passed on to pytest.

set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../binaries/setup_venv.sh"
setup_venv requirements.txt tests/requirements.txt
cd "$ROOT"

exec "$PYTHON" -m pytest "$@"
