#!/usr/bin/env bash
# From a fresh clone to a result: sets up once, then does the main job.

set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/setup_venv.sh"
setup_venv requirements.txt
cd "$ROOT"

RUNS=runs/quickstart
cat <<TEXT
What is the policy shipped for Pendulum-v1 worth, judged by logged data alone?
Collects 50,000 transitions and evaluates by three methods, in two minutes; the
second time it only reads what it found.

TEXT
# Networks of half the paper's width: enough for Pendulum, in half the time.
"$PYTHON" binaries/run_ope.py --env=Pendulum-v1 \
  --algo=linear_srdice,srdice,deep_td --select=flow --preset=quick \
  --hidden_units=128 --num_features=128 --truth_episodes=100 \
  --output_dir="$RUNS"
"$PYTHON" binaries/make_report.py --runs="$RUNS"
cat <<TEXT

Next: another task, data of your own, the paper's experiments:
  .venv/bin/python binaries/run_ope.py --env=Hopper-v4 --algo=dr,srdice,deep_td
  .venv/bin/python binaries/check_data.py --data=logs.npz --policy=my_policy/
  .venv/bin/python binaries/run_experiment.py --list
TEXT
