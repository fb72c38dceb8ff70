#!/bin/bash
#SBATCH --job-name=train
#SBATCH --nodes=2
#SBATCH --gpus-per-node=1
#SBATCH --time=08:00:00
# The job ends in its first minutes when a node cannot deliver: no hours are burnt on a throttled card.
set -euo pipefail
TARGET="${TARGET:-@TARGET@}"
ENVDOCTOR="${ENVDOCTOR:-@SOURCE@}"   # @ABOUT_SOURCE@
ENVIRONMENTS="${ENVIRONMENTS:-$HOME/.cache/envdoctor}"   # on a file system that all nodes see
if [ ! -x "$ENVIRONMENTS/doctor/bin/envdoctor" ]; then
    python3 -m venv "$ENVIRONMENTS/doctor"
    "$ENVIRONMENTS/doctor/bin/python" -m pip install --quiet "$ENVDOCTOR"
fi
export PATH="$ENVIRONMENTS/doctor/bin:$PATH" TARGET
# Named after its lock: made once by the first node, then only checked.
export TRAIN_ENV="$ENVIRONMENTS/$(envdoctor ci key --target "$TARGET")"
envdoctor fix --yes --target "$TARGET" --env "$TRAIN_ENV" --fail-on never

# Every node is judged and timed, all at the same time, and says its own name when it fails. srun ends with the worst
# exit code. 1: findings, or slower. 2: wrong usage. 3: the environment could not be examined.
code=0
srun --ntasks-per-node=1 --ntasks="${SLURM_JOB_NUM_NODES:-1}" --kill-on-bad-exit=0 bash -c '
    node="${SLURMD_NODENAME:-$(hostname)}" code=0
    envdoctor preflight --alone --target "$TARGET" --env "$TRAIN_ENV" || code=$?
    [ "$code" -eq 0 ] || echo "preflight failed on $node with exit code $code" >&2
    exit "$code"' || code=$?
# Then all together: do they agree in versions and drivers, can they talk, and how fast? The odd node is named.
if [ "$code" -eq 0 ] && [ "${SLURM_JOB_NUM_NODES:-1}" -gt 1 ]; then
    srun --ntasks-per-node=1 --ntasks="$SLURM_JOB_NUM_NODES" \
        envdoctor preflight --target "$TARGET" --env "$TRAIN_ENV" || code=$?
fi
if [ "$code" -ne 0 ]; then
    echo "giving the nodes back" >&2
    exit "$code"
fi
# shellcheck disable=SC2086
srun "$TRAIN_ENV/bin/python" train.py ${TRAIN_ARGS:-}
