/* Trains a compiled model from a C program, with data that the program holds.
 *
 *   halfstep compile digits/mlp.onnx -o digits --loss cross-entropy --optimizer adam:lr=1e-3
 * --batch 64 train-digits ./digits digits/train.x.npy digits/train.label.npy trained.safetensors
 */
#include "halfstep.h"

#include <stdio.h>
#include <stdlib.h>

enum { EPOCHS = 8 };

/* The elements of a .npy file (version 1), which stay in memory to the end. */
static const char *readArray(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(1);
  }
  fseek(file, 0, SEEK_END);
  size_t size = (size_t)ftell(file);
  rewind(file);
  unsigned char *contents = malloc(size);
  if (!contents || size < 10 || fread(contents, 1, size, file) != size) {
    fprintf(stderr, "%s: cannot read\n", path);
    exit(1);
  }
  fclose(file);
  size_t header = 10 + contents[8] + 256u * contents[9];
  *bytes = size - header;
  return (const char *)contents + header;
}

static int fail(void) {
  fprintf(stderr, "train-digits: %s\n", hs_last_error());
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: train-digits MODEL X.npy LABEL.npy CHECKPOINT\n");
    return 2;
  }
  hs_session *session = hs_open(argv[1], NULL, 1);
  if (!session)
    return fail();

  /* Each input takes one batch; the rows of a file are samples. */
  const hs_artefact *model = hs_describe(session);
  if (model->input_count != 2) {
    fprintf(stderr, "train-digits: expects a model with one input and a label\n");
    return 1;
  }
  size_t bytes[2];
  const char *data[2] = {readArray(argv[2], &bytes[0]), readArray(argv[3], &bytes[1])};
  size_t batches = bytes[0] / model->inputs[0].slice.bytes;
  if (batches == 0 || bytes[1] / model->inputs[1].slice.bytes < batches) {
    fprintf(stderr, "train-digits: the files hold less than a batch\n");
    return 1;
  }

  uint64_t step = 0;
  for (int epoch = 1; epoch <= EPOCHS; ++epoch) {
    double sum = 0;
    for (size_t batch = 0; batch < batches; ++batch, ++step) {
      hs_record record;
      for (uint32_t i = 0; i < 2; ++i)
        if (hs_bind(session, i, data[i] + batch * model->inputs[i].slice.bytes) != HS_OK)
          return fail();
      if (hs_run(session, HS_MICRO) != HS_OK || hs_run(session, HS_UPDATE) != HS_OK ||
          hs_read_record(session, step, &record) != HS_OK)
        return fail();
      sum += record.loss;
    }
    printf("epoch %d: loss %.4f\n", epoch, sum / (double)batches);
  }

  if (hs_save(session, argv[4]) != HS_OK)
    return fail();
  hs_close(session);
  return 0;
}
