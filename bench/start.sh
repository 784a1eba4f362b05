#!/usr/bin/env bash
# From process start to the end of the first step: bench/start.sh, with halfstep on the PATH and
# hyperfine installed. The first loss is known just before the process ends: these times bound it.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT

models=tests/models/data digits=examples/digits
digits_recipe=(--batch 64 --loss cross-entropy --optimizer adam:lr=1e-3)
digits_data="--data x=$digits/train.x.npy --data label=$digits/train.label.npy"
mlp10_data="--data x=$models/mlp10.x.npy --data label=$models/mlp10.label.npy"
step="--steps 1 --quiet"

halfstep compile $models/mlp10.onnx --batch 16 --loss mse --optimizer sgd:lr=0.01 -o "$out/mlp10"
halfstep compile $digits/mlp.onnx "${digits_recipe[@]}" -o "$out/digits_mlp"
hyperfine --shell=none --warmup 3 --runs 30 \
  --command-name "mlp10, executable" "$out/mlp10 $mlp10_data $step" \
  --command-name "digits_mlp, executable" "$out/digits_mlp $digits_data $step" \
  --command-name "digits_mlp, halfstep train" \
  "halfstep train $digits/mlp.onnx ${digits_recipe[*]} $digits_data $step"
