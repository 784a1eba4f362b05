"""Commands with wrong input and what they say of it, one a row."""

MLP = "mlp10.onnx"
RECIPE = "--batch 16 --loss mse --optimizer sgd"
DIGITS_RECIPE = "--batch 16 --loss cross-entropy --optimizer adam"
TRAIN = f"halfstep train {MLP} {RECIPE} --steps 2"
TRAIN_HALF = (f"halfstep train {MLP} --batch 16 --loss mse --optimizer adam "
              "--precision half-grad --steps 2")
INPUTS = "--data x=mlp10.x.npy --data label=mlp10.label.npy"


def compiling(model, *options):
    return " ".join(["halfstep compile", model, *(options or [RECIPE]), "-o out"])


# (what, exit code, pattern at the start of the message behind "halfstep: error: ", command)
CASES = [
    # Files that are no model.
    ("missing model", 1, r"no\.onnx: no such file", compiling("no.onnx")),
    ("folder", 1, r"folder: is not a regular file", compiling("folder")),
    ("empty model", 1, r"empty\.onnx: is empty", compiling("empty.onnx")),
    ("truncated model", 1, r"truncated\.onnx: is not an ONNX model, or a truncated one",
     compiling("truncated.onnx")),
    ("random bytes", 1, r"random\.onnx: is not an ONNX model", compiling("random.onnx")),
    ("text file", 1, r"text\.onnx: is a text file", compiling("text.onnx")),
    ("text as a module", 1, r"text\.mlir:1:1: ", compiling("text.mlir")),

    # Models that cannot be trained.
    ("unknown op", 1, r"unknown_op\.onnx: strange: NoSuchOp .* is not supported",
     compiling("unknown_op.onnx")),
    ("computed constant with a name of checkpoints", 1,
     r"reserved\.onnx: shift: .*'halfstep/positions'.* checkpoints keep these names",
     compiling("reserved.onnx")),
    ("unknown op, inspected", 1, r"unknown_op\.onnx: strange: NoSuchOp",
     "halfstep inspect unknown_op.onnx"),
    ("unknown op, coverage", 1, r"unknown_op\.onnx: ", "halfstep ops unknown_op.onnx"),
    ("dimension of size zero", 1, r"zero\.onnx: x: dimension 1 of this graph input is 0",
     compiling("zero.onnx")),
    ("dimension of negative size", 1, r"negative\.onnx: x: dimension 1 of this graph input is -3",
     compiling("negative.onnx")),

    # External data.
    ("missing external data", 1, r"no_data\.onnx: .*no_data\.onnx\.data",
     compiling("no_data.onnx")),
    ("external data outside", 1, r"outside\.onnx: .*\.\./", compiling("outside.onnx")),
    ("absolute external data", 1, r"absolute\.onnx: .*/etc/hostname", compiling("absolute.onnx")),

    # Dimensions.
    ("unbound batch", 2, r"mlp10\.onnx: x: dimension 0 \('batch'\) .*has no size",
     compiling(MLP, "--loss mse --optimizer sgd")),
    ("batch of zero", 2, r"--batch: '0' is not a positive whole number",
     compiling(MLP, "--batch 0 --loss mse --optimizer sgd")),
    ("negative batch", 2, r"--batch: '-4' is not a positive whole number",
     compiling(MLP, "--batch -4 --loss mse --optimizer sgd")),
    ("bound to zero", 2, r"--bind: batch: '0' is not a positive whole number",
     compiling(MLP, "--bind batch=0 --loss mse --optimizer sgd")),
    ("bound without number", 2, r"--bind: 'batch' is not NAME=N",
     compiling(MLP, "--bind batch --loss mse --optimizer sgd")),
    ("unknown dimension", 2, r".*no graph input has a dimension named 'bach'",
     compiling(MLP, "--batch 16 --bind bach=2 --loss mse --optimizer sgd")),
    ("indivisible batch", 2, r"--accumulate: 3 micro-batches do not divide a batch of 16",
     compiling(MLP, RECIPE, "--accumulate 3")),

    # Data.
    ("missing data file", 1, r"no\.npy: ", f"{TRAIN} --data x=no.npy --data label=mlp10.label.npy"),
    ("no data", 2, r"--data: no data for label", f"{TRAIN} --data x=mlp10.x.npy"),
    ("unknown input", 2, r"--data: no input of the model is called 'y'",
     f"{TRAIN} {INPUTS} --data y=mlp10.x.npy"),
    ("data of wrong shape", 1,
     r"digits\.x\.npy: its shape does not fit input x(.*\n)*.*\[1437, 64\]",
     f"{TRAIN} --data x=digits.x.npy --data label=mlp10.label.npy"),
    ("data of wrong type", 1, r"complex\.npy: .*complex|complex\.npy: .*c16",
     f"{TRAIN} --data x=complex.npy --data label=mlp10.label.npy"),
    ("class ids as floats", 1, r"digits\.x0\.npy: .*float32.*",
     f"halfstep train digits.onnx {DIGITS_RECIPE} --steps 2 --data x=digits.x.npy "
     "--data label=digits.x0.npy"),
    ("different counts", 1, r"short\.npy: 5 samples, but mlp10\.x\.npy holds 64",
     f"{TRAIN} --data x=mlp10.x.npy --data label=short.npy"),
    ("less than a batch", 1, r"short_x\.npy: ",
     f"{TRAIN} --data x=short_x.npy --data label=short.npy"),
    ("truncated data", 1, r"truncated\.npy: ",
     f"{TRAIN} --data x=truncated.npy --data label=mlp10.label.npy"),
    ("data of another format", 1, r"text\.npy: ",
     f"{TRAIN} --data x=text.npy --data label=mlp10.label.npy"),
    ("class out of range", 1, r"classes\.npy: .*\b10\b",
     f"halfstep train digits.onnx {DIGITS_RECIPE} --steps 200 --no-shuffle "
     "--data x=digits.x.npy --data label=classes.npy"),
    ("negative class", 1, r"negative\.npy: .*-1\b",
     f"halfstep train digits.onnx {DIGITS_RECIPE} --steps 200 --no-shuffle "
     "--data x=digits.x.npy --data label=negative.npy"),

    # Recipe.
    ("unknown loss", 2, r"--loss: .*'mes'.*\n?.*mse",
     compiling(MLP, "--batch 16 --loss mes --optimizer sgd")),
    ("unknown optimizer", 2, r"--optimizer: .*'adan'.*\n?.*adam",
     compiling(MLP, "--batch 16 --loss mse --optimizer adan")),
    ("unknown schedule", 2, r"--schedule: .*'cosin'.*\n?.*cosine",
     compiling(MLP, RECIPE, "--schedule cosin:t_max=3")),
    ("unknown key", 2, r"--optimizer: .*'rl'",
     compiling(MLP, "--batch 16 --loss mse --optimizer sgd:rl=1")),
    ("value that is no number", 2, r"--optimizer: .*lr must be a number \(got fast\)",
     compiling(MLP, "--batch 16 --loss mse --optimizer sgd:lr=fast")),
    ("value out of range", 2, r"--optimizer: .*lr must not be negative \(got -1\)",
     compiling(MLP, "--batch 16 --loss mse --optimizer sgd:lr=-1")),
    ("key without value", 2, r"--optimizer: .*'lr' is not key=value",
     compiling(MLP, "--batch 16 --loss mse --optimizer sgd:lr")),
    ("required key", 2, r"--schedule: .*t_max", compiling(MLP, RECIPE, "--schedule cosine")),
    ("no loss", 2, r"--loss: is needed to train", compiling(MLP, "--batch 16 --optimizer sgd")),
    ("no optimizer", 2, r"--optimizer: is needed to train",
     compiling(MLP, "--batch 16 --loss mse")),
    ("mixed precision", 2, r"--precision: 'mixed' .*(\n.*)*autocast or half-grad",
     compiling(MLP, RECIPE, "--precision mixed")),
    ("unknown precision", 2, r"--precision: no mode is called 'fp8'",
     compiling(MLP, RECIPE, "--precision fp8")),
    ("unknown CPU", 2, r"--cpu: no level is called 'x86-64-v2'",
     compiling(MLP, RECIPE, "--cpu x86-64-v2")),
    ("negative clipping", 2, r"--clip-norm: '-1' is not a positive number",
     compiling(MLP, RECIPE, "--clip-norm -1")),
    ("loss that does not fit", 2, r"--loss: .*one number",
     compiling(MLP, "--batch 16 --loss output --optimizer sgd")),

    # Inputs.
    ("unknown input type", 2, r"--input-type: 'x=fp8' is not NAME=fp32, NAME=fp16 or NAME=bf16",
     compiling(MLP, RECIPE, "--input-type x=fp8")),
    ("input type of no input", 2,
     r"--input-type: no input of the model is called 'labels'; did you mean label\?",
     compiling(MLP, RECIPE, "--input-type labels=fp16")),
    ("input type of class ids", 2, r"--input-type: label holds 'i64', which is no float type",
     compiling("digits.onnx", DIGITS_RECIPE, "--input-type label=fp16")),
    ("no input slot", 2, r"--input-slots: '0' is not a whole number from 1 to 64",
     compiling(MLP, RECIPE, "--input-slots 0")),
    ("too many input slots", 2, r"--input-slots: '65' is not a whole number from 1 to 64",
     compiling(MLP, RECIPE, "--input-slots 65")),

    # Patterns.
    ("pattern that matches nothing", 2,
     r"--freeze nothing matches no parameter(.*\n)*help: .*0\.weight",
     compiling(MLP, RECIPE, "--freeze nothing")),
    ("pattern that does not parse", 2, r"--train \[: not a regular expression",
     compiling(MLP, RECIPE, "--train [")),
    ("everything frozen", 1, r"mlp10\.onnx: every parameter is frozen",
     compiling(MLP, RECIPE, "--freeze .")),

    # Command line.
    ("no command", 2, r"it is not said what to do", "halfstep"),
    ("unknown command", 2,
     r"halfstep: no command is called 'trian'(.*\n)*help: did you mean train\?", "halfstep trian"),
    ("unknown option", 2,
     r"halfstep compile: no option is called '--optimiser'(.*\n)*help: did you mean --optimizer\?",
     compiling(MLP, "--optimiser sgd")),
    ("option that is not there", 2, r"halfstep compile: no option is called '--fast-math'",
     compiling(MLP, RECIPE, "--fast-math")),
    ("no model", 2, r"MODEL is required", "halfstep compile -o out"),
    ("superfluous word", 2, r".*more", compiling(MLP, f"more {RECIPE}")),
    ("both lengths", 2, r"--\w+ excludes --\w+", f"{TRAIN} {INPUTS} --epochs 3"),
    ("no length", 2, r"it is not said how long to train",
     f"halfstep train {MLP} {RECIPE} {INPUTS}"),
    ("unknown phase", 2, r"--phase: no phase is called 'gard'(.*\n)*help: did you mean grad\?",
     f"halfstep inspect {MLP} --phase gard"),
    ("unknown format", 2, r"--format: no format is called 'yaml'",
     f"halfstep inspect {MLP} --format yaml"),
    ("hyperparameter out of its range", 2, r"--set: beta1 must be from 0 to below 1 \(got 1\)",
     f"{TRAIN_HALF} {INPUTS} --set beta1=1"),
    ("loss scale of zero", 2, r"--set: scale must be positive \(got 0\)",
     f"{TRAIN_HALF} {INPUTS} --set scale=0"),
    ("backoff that grows", 2, r"--set: backoff_factor must lie between 0 and 1 \(got 1\)",
     f"{TRAIN_HALF} {INPUTS} --set backoff_factor=1"),
    ("growth that shrinks", 2, r"--set: growth_factor must be above 1 \(got 1\)",
     f"{TRAIN_HALF} {INPUTS} --set growth_factor=1"),
    ("no skip allowed", 2, r"--set: max_skips must be at least 1 \(got 0\)",
     f"{TRAIN_HALF} {INPUTS} --set max_skips=0"),
    ("unknown hyperparameter", 2, r"--set: no hyperparameter of the model is called 'rl'",
     f"{TRAIN} {INPUTS} --set rl=1"),
    ("unknown metric", 2, r"--metric: no metric is called 'acuracy'",
     f"{TRAIN} {INPUTS} --validate x=mlp10.x.npy --validate label=mlp10.label.npy "
     "--metric acuracy"),
    ("missing config file", 2, r"no\.toml", compiling(MLP, "--config no.toml")),
    ("unknown name in config file", 2,
     r"--config: no option is called 'optimiser'(.*\n)*help: did you mean optimizer\?",
     compiling(MLP, "--config wrong.toml")),

    # Checkpoints.
    ("checkpoint of another model", 1, r"digits\.safetensors: ",
     f"{TRAIN} {INPUTS} --resume digits.safetensors"),
    ("weights of another model", 1, r"digits\.safetensors: ",
     f"{TRAIN} {INPUTS} --weights digits.safetensors"),
    ("export of another model", 1, r"mlp10\.onnx: 4\.bias: .*checkpoint of another model",
     f"halfstep export {MLP} --weights digits.safetensors -o out"),
    ("checkpoint that is none", 1, r"text\.npy: ", f"{TRAIN} {INPUTS} --resume text.npy"),
    ("missing checkpoint", 1, r"no\.safetensors: ", f"{TRAIN} {INPUTS} --resume no.safetensors"),

    # Outputs.
    ("output in no folder", 1, r"no/out: ", f"halfstep compile {MLP} {RECIPE} -o no/out"),
    ("output where nothing can be", 1, r"/proc/out: ",
     f"halfstep compile {MLP} {RECIPE} -o /proc/out"),
    ("output that is a folder", 1, r"folder: ", f"halfstep compile {MLP} {RECIPE} -o folder"),
    ("output that is the model", 2, r"-o: .*mlp10\.onnx",
     f"halfstep compile {MLP} {RECIPE} -o {MLP}"),
    ("output that is the model by another name", 2, r"-o: .*link\.onnx",
     f"halfstep compile {MLP} {RECIPE} -o link.onnx"),
    ("output that is external data", 2, r"-o: .*weights\.data",
     f"halfstep compile external.onnx {RECIPE} -o weights.data"),
    ("export onto the model", 2, r"-o: ",
     f"halfstep export {MLP} --weights mlp10.safetensors -o {MLP}"),
    ("export's external data onto the checkpoint", 2, r"-o: trained\.onnx\.data is also read",
     f"halfstep export {MLP} --weights trained.onnx.data -o trained.onnx"),
    ("export that would grow in the checkpoint", 2, r"-o: trained\.onnx\.part is also read",
     f"halfstep export {MLP} --weights trained.onnx.part -o trained.onnx"),
    ("export's external data onto the model", 2, r"-o: .*data\.onnx\.data is also read",
     "halfstep export data.onnx.data --weights mlp10.safetensors -o data.onnx"),
    ("checkpoint onto the data", 2, r"--save: .*mlp10\.x\.npy",
     f"{TRAIN} {INPUTS} --save mlp10.x.npy --force"),
    ("checkpoint onto the model", 2, r"--save: .*mlp10\.onnx",
     f"{TRAIN} {INPUTS} --save {MLP} --force"),
    ("log onto the data", 2, r"--log: .*mlp10\.x\.npy", f"{TRAIN} {INPUTS} --log mlp10.x.npy"),
    ("existing checkpoint", 2, r"--save: mlp10\.safetensors exists already",
     f"{TRAIN} {INPUTS} --save mlp10.safetensors"),
]
