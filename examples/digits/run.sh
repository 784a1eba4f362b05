#!/usr/bin/env bash
# From an ONNX file to a trained ONNX file: run.sh FOLDER, with halfstep on the PATH.
# Fails unless the model reads at least 95 of 100 held-out digits right.
set -euo pipefail
out=${1:?usage: run.sh FOLDER}
here=$(dirname "$0")

mkdir -p "$out"
run() { printf '\n$ %s\n' "$*"; "$@"; }

run halfstep compile "$here/mlp.onnx" --batch 30 --loss cross-entropy --optimizer adam:lr=1e-3 \
  -o "$out/digits"
run "$out/digits" --epochs 40 --metric accuracy \
  --data x="$here/train.x.npy" --data label="$here/train.label.npy" \
  --validate x="$here/heldout.x.npy" --validate label="$here/heldout.label.npy" \
  --log "$out/log.jsonl" --save "$out/digits.safetensors" --force
run halfstep export "$here/mlp.onnx" --weights "$out/digits.safetensors" -o "$out/digits.onnx"

accuracy=$(grep '"event":"validate"' "$out/log.jsonl" | tail -1 |
  sed -E 's/.*"accuracy":([0-9.eE+-]+).*/\1/')
printf '\nvalidation accuracy %.4f\n' "$accuracy"
awk -v accuracy="$accuracy" 'BEGIN { exit !(accuracy >= 0.95) }'
