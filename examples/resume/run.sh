#!/usr/bin/env bash
# A training run in two sittings: run.sh FOLDER, with halfstep on the PATH.
# Fails unless it ends with the very bytes of a run that was never interrupted.
set -euo pipefail
out=${1:?usage: run.sh FOLDER}
here=$(dirname "$0")
digits=$here/../digits

mkdir -p "$out"
run() { printf '\n$ %s\n' "$*"; "$@"; }

run halfstep compile "$digits/mlp.onnx" --config "$here/recipe.toml" -o "$out/train"
data=(--data x="$digits/train.x.npy" --data label="$digits/train.label.npy")

run "$out/train" "${data[@]}" --epochs 10 --save "$out/whole.safetensors" --force

run "$out/train" "${data[@]}" --epochs 4 --save "$out/sittings.safetensors" --force
run "$out/train" "${data[@]}" --epochs 10 --resume "$out/sittings.safetensors" \
  --save "$out/sittings.safetensors"

run cmp "$out/whole.safetensors" "$out/sittings.safetensors"
printf '\nequal, bit for bit\n'
