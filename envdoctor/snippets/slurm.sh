#!/bin/bash
#SBATCH --job-name=train
#SBATCH --gpus-per-node=1
#SBATCH --time=08:00:00
# The job ends here, in its first minute, when the node cannot deliver: no hours are burnt on a throttled card.
set -euo pipefail
ENV_DIR="${ENV_DIR:-$HOME/env}"
code=0
envdoctor preflight --target @TARGET@ --env "$ENV_DIR" || code=$?
if [ "$code" -ne 0 ]; then
    echo "preflight failed on $(hostname) with exit code $code; giving the node back" >&2
    exit "$code"
fi
# shellcheck disable=SC2086
srun "$ENV_DIR/bin/python" train.py ${TRAIN_ARGS:-}
