#!/usr/bin/env bash
# From a fresh clone to a result: sets up once, then does the main job.

set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/setup_venv.sh"
setup_venv requirements.txt
cd "$ROOT"

exec "$PYTHON" binaries/run_ope.py --env=Pendulum-v1 \
  --algo=linear_srdice,srdice,deep_sr --select=flow --preset=quick \
  --truth_episodes=100
