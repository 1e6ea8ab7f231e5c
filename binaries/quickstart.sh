#!/usr/bin/env bash
# From a fresh clone to a result: sets up once, then does the main job.

set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/setup_venv.sh"
setup_venv requirements.txt
cd "$ROOT"

"$PYTHON" binaries/collect_dataset.py --env=Pendulum-v1 --policy=untrained \
  --setting=hard --num_transitions=5000 --dataset_dir=data/quickstart
"$PYTHON" binaries/evaluate_policy.py --env=Pendulum-v1 --policy=untrained \
  --num_episodes=20
