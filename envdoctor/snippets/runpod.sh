#!/bin/bash
# The start command of a RunPod pod: bash /workspace/start.sh - a card that cannot deliver is given back at once.
# Pods that share a network volume find it under /workspace, which outlives them: the environment is made once.
set -euo pipefail
TARGET="${TARGET:-@TARGET@}"
ENVDOCTOR="${ENVDOCTOR:-@SOURCE@}"   # @ABOUT_SOURCE@
VOLUME="${VOLUME:-/workspace}"
# A pod whose command ends is started again, and billed: stop it, whatever the outcome.
stop() {
    code=$?
    if [ -n "${RUNPOD_POD_ID:-}" ]; then
        echo "ended with exit code $code; stopping the pod" >&2
        runpodctl pod stop "$RUNPOD_POD_ID" || runpodctl stop pod "$RUNPOD_POD_ID"   # newer and older runpodctl
    fi
    exit "$code"
}
trap stop EXIT
# The doctor itself is small and belongs to the pod, not onto the volume.
if [ ! -x "$HOME/envdoctor/bin/envdoctor" ]; then
    python3 -m venv "$HOME/envdoctor"
    "$HOME/envdoctor/bin/python" -m pip install --quiet "$ENVDOCTOR"
fi
export PATH="$HOME/envdoctor/bin:$PATH"
# Named after its lock, and after the Python of the image, which it starts.
python=$(python3 -c 'import sys; print("py%d%d" % sys.version_info[:2])')
TRAIN_ENV="$VOLUME/.envdoctor/$(envdoctor ci key --target "$TARGET")-$python"
# 1: findings that a repair does not mend, or slower. 2: wrong usage. 3: the environment could not be examined.
envdoctor preflight --fix --yes --target "$TARGET" --env "$TRAIN_ENV"
cd "$VOLUME"
"$TRAIN_ENV/bin/python" train.py
