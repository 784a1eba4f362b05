#!/usr/bin/env bash
# Looks into a model and into what the phases make of it: run.sh FOLDER, with halfstep on the PATH.
set -euo pipefail
out=${1:?usage: run.sh FOLDER}
here=$(dirname "$0")
model=$here/../digits/mlp.onnx

mkdir -p "$out"
run() { printf '\n$ %s\n' "$*"; "$@"; }

# Can it be trained, and what is in it?
run halfstep ops "$model"
run halfstep inspect "$model"

# The backward pass, as train ops; then the kernels that are left after fusion.
recipe=(--loss cross-entropy --optimizer adam)
halfstep inspect "$model" "${recipe[@]}" --batch 64 --phase grad > "$out/grad.mlir"
halfstep inspect "$model" "${recipe[@]}" --batch 64 --phase kernels > "$out/kernels.mlir"
printf '\n%s matrix products, %s kernels and library calls\n' \
  "$(grep -c train.matmul "$out/grad.mlir")" \
  "$(grep -cE 'table.(launch|gemm)' "$out/kernels.mlir")"

# Where each byte goes: twice the batch is twice the activations, and the same parameters.
for batch in 64 128; do
  run halfstep inspect "$model" "${recipe[@]}" --batch "$batch" --phase memory
done

# Any phase's result can be edited and compiled on.
run halfstep compile "$model" "${recipe[@]}" --batch 64 --dump-phases "$out/phases" -o "$out/train"
run halfstep compile "$out/phases/04-update.mlir" -o "$out/train-from-update"
run cmp "$out/train" "$out/train-from-update"
