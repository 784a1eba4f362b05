//===- loader_test.cpp - Batches from files into a session ------------------------------------===//

#include "RunnerTest.h"
#include "runtime/Loader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace halfstep::runtime;

namespace {

class LoaderTest : public ::testing::Test {
protected:
  /// Loads x.npy and label.npy of the folder.
  Loader load(Session &session) {
    return Loader(session, {folder / "x.npy", folder / "label.npy"});
  }

  /// Writes x.npy and label.npy of so many samples: their own labels, or `classes`.
  Samples write(size_t count, const std::vector<int64_t> &classes = {}) {
    Samples samples(count);
    writeNpy(folder / "x.npy", samples.x, {3});
    if (classes.empty())
      writeNpy(folder / "label.npy", samples.label);
    else
      writeNpy(folder / "label.npy", classes);
    return samples;
  }

  /// The model's prediction for a sample; the features make it tell samples apart.
  static float predict(const Samples &samples, size_t i) {
    const float *x = &samples.x[i * 3];
    return x[0] * runnerModelStart[0] + x[1] * runnerModelStart[1] + x[2] * runnerModelStart[2];
  }

  /// What `infer` computes for the bound batch.
  static std::vector<float> outputs(Session &session) {
    session.infer();
    std::vector<float> y(4);
    session.read(*session.find(HS_OUTPUT, "/out/y"), y.data());
    return y;
  }

  /// The two files do not fit the model.
  void expectRefusal(const std::string &message, const std::string &variant = "RunnerModel") {
    auto session = startRunnerModel(variant);
    EXPECT_ERROR(load(*session), message);
  }

  TemporaryFolder folder;
};

TEST_F(LoaderTest, BindsSamplesInFileOrder) {
  Samples samples = write(10);
  auto session = startRunnerModel();
  Loader loader = load(*session);
  EXPECT_EQ(loader.samples(), 10u);
  EXPECT_EQ(loader.batch(), 4u);
  loader.bindRange(3);
  std::vector<float> y = outputs(*session);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(y[i], predict(samples, 3 + i));
}

TEST_F(LoaderTest, RepeatsTheLastSampleBeyondTheEnd) {
  Samples samples = write(10);
  auto session = startRunnerModel();
  Loader loader = load(*session);
  loader.bindRange(8);
  std::vector<float> y = outputs(*session);
  EXPECT_EQ(y[0], predict(samples, 8));
  for (size_t i = 1; i < 4; ++i)
    EXPECT_EQ(y[i], predict(samples, 9));
}

TEST_F(LoaderTest, GathersRowsInRunsAndAlone) {
  Samples samples = write(10);
  auto session = startRunnerModel();
  Loader loader = load(*session);
  for (const std::vector<uint64_t> &rows :
       {std::vector<uint64_t>{9, 0, 1, 5}, {6, 7, 8, 9}, {3, 2, 1, 0}, {4, 4, 4, 5}}) {
    loader.bindRows(rows.data());
    std::vector<float> y = outputs(*session);
    for (size_t i = 0; i < 4; ++i)
      EXPECT_EQ(y[i], predict(samples, rows[i]));
  }
}

TEST_F(LoaderTest, ConvertsToTheTypeOfTheStep) {
  Samples samples(10);
  writeNpy(folder / "x.npy", std::vector<double>(samples.x.begin(), samples.x.end()), {3});
  writeNpy(folder / "label.npy", std::vector<int64_t>(10, 1));
  auto session = startRunnerModel();
  Loader loader = load(*session);
  loader.bindRange(2);
  std::vector<float> y = outputs(*session);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(y[i], predict(samples, 2 + i));
}

/// Changes the first feature of all samples, in the file itself.
void overwriteFeatures(const std::string &path, size_t samples) {
  std::string file = readFile(path);
  int descriptor = open(path.c_str(), O_WRONLY);
  for (size_t i = 0; i < samples; ++i) {
    float changed = 100;
    ASSERT_EQ(pwrite(descriptor, &changed, 4, off_t(file.size() - 12 * (samples - i))), 4);
  }
  close(descriptor);
}

// A batch that is not copied shows what happens to the file afterwards; a staged one does not.
TEST_F(LoaderTest, ContiguousBatchesAreNotCopied) {
  Samples samples(10);
  writeNpy(folder / "label.npy", samples.label);
  for (bool gathered : {false, true}) {
    writeNpy(folder / "x.npy", samples.x, {3});
    auto session = startRunnerModel();
    Loader loader = load(*session);
    std::vector<uint64_t> rows = {0, 1, 2, 3};
    gathered ? loader.bindRows(rows.data()) : loader.bindRange(0);
    overwriteFeatures(folder / "x.npy", 10);
    bool changed = outputs(*session)[0] != predict(samples, 0);
    EXPECT_EQ(changed, !gathered);
  }
}

TEST_F(LoaderTest, BindsPrefetchedBatches) {
  Samples samples = write(16);
  std::vector<uint64_t> rows = {0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15};
  for (const char *variant : {"RunnerModel", "RunnerModelThreeSlots"}) {
    auto session = startRunnerModel(variant);
    Loader loader = load(*session);
    uint64_t ahead = session->artefact().input_slots - 1;
    loader.bindRows(&rows[0]);
    for (uint64_t i = 1; i <= ahead; ++i) {
      std::vector<uint64_t> passing(&rows[4 * i], &rows[4 * i + 4]);
      loader.prefetchRows(passing.data());
    }
    EXPECT_EQ(outputs(*session)[1], predict(samples, 2)); // what is bound stays as it is
    EXPECT_EQ(loader.prefetched(), ahead);
    for (uint64_t i = 1; i <= ahead; ++i) {
      loader.bindRows(&rows[4 * i]);
      EXPECT_EQ(loader.prefetched(), ahead - i);
      EXPECT_EQ(outputs(*session)[3], predict(samples, rows[4 * i + 3]));
    }
  }
}

TEST_F(LoaderTest, AnotherBatchThanThePrefetchedOne) {
  Samples samples = write(12);
  for (const char *variant : {"RunnerModel", "RunnerModelThreeSlots"}) {
    auto session = startRunnerModel(variant);
    Loader loader = load(*session);
    std::vector<uint64_t> rows = {0, 2, 4, 6, 1, 3, 5, 7, 11, 8, 10, 9};
    for (int round = 0; round < 3; ++round) {
      loader.bindRows(&rows[0]);
      loader.prefetchRows(&rows[4]);
      loader.bindRows(&rows[8]);
      EXPECT_EQ(loader.prefetched(), 0u);
      EXPECT_EQ(outputs(*session)[1], predict(samples, 8));
      loader.prefetchRange(0);
      loader.cancelPrefetch();
    }
  }
}

TEST_F(LoaderTest, OneSlotIsNeverFilledAhead) {
  Samples samples = write(80000);
  auto session = startRunnerModel("RunnerModelOneSlot");
  Loader loader = load(*session);
  loader.bindRange(0);
  EXPECT_FALSE(loader.canPrefetch(/*isRange=*/false));
}

// A batch that cannot be read is an error of the step that would read it.
TEST_F(LoaderTest, ErrorsOfPrefetchedBatchesComeWhereTheyAreBound) {
  write(12, {0, 1, 2, 0, 1, 3, 0, 0, 1, 1, 1, 1});
  auto session = startRunnerModel("RunnerModelClasses");
  Loader loader = load(*session);
  loader.bindRange(0);
  loader.prefetchRange(4);
  session->evaluate();
  for (int round = 0; round < 2; ++round) // it does not go away
    EXPECT_ERROR(loader.bindRange(4), "label.npy: sample 5: the class id 3");
  loader.bindRange(8);
  session->evaluate();
}

// Kernels index with class ids: a file that changes after the check must not matter.
TEST_F(LoaderTest, ClassIdsAreCheckedWhereTheyAreUsed) {
  write(4, {0, 1, 2, -100});
  auto session = startRunnerModel("RunnerModelClasses");
  Loader loader = load(*session);
  loader.bindRange(0);
  session->evaluate();
  double before = session->readScalar(*session->find(HS_METRIC, "loss"));
  writeNpy(folder / "label.npy", std::vector<int64_t>{9999, 9999, 9999, 9999});
  session->evaluate();
  EXPECT_EQ(session->readScalar(*session->find(HS_METRIC, "loss")), before);
  EXPECT_ERROR(loader.bindRange(0), "sample 0: the class id 9999");
}

TEST_F(LoaderTest, UnalignedElementsAreStaged) {
  Samples samples(4);
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3)}";
  header.resize(header.size() | 1, ' ');
  std::string file = "\x93NUMPY\x01" + std::string(1, '\0') + char(header.size()) + '\0' + header;
  ASSERT_EQ(file.size() % 2, 1u);
  file.append(reinterpret_cast<char *>(samples.x.data()), samples.x.size() * 4);
  writeFile(folder / "x.npy", file);
  writeNpy(folder / "label.npy", samples.label);
  auto session = startRunnerModel();
  Loader loader = load(*session);
  loader.bindRange(0);
  EXPECT_EQ(outputs(*session)[3], predict(samples, 3));
}

TEST_F(LoaderTest, NamesSampleAndValueOfABadClass) {
  write(8, {0, 1, 2, 0, 1, 3, -100, 0});
  auto session = startRunnerModel("RunnerModelClasses");
  Loader loader = load(*session);
  loader.bindRange(0);
  EXPECT_ERROR(loader.bindRange(4),
               "label.npy: sample 5: the class id 3 is not one of the model's 3 "
               "classes\n  class ids run from 0 to 2, and -100 is ignored");
  std::vector<uint64_t> rows = {1, 7, 5, 2};
  EXPECT_ERROR(loader.bindRows(rows.data()), "sample 5: the class id 3");
}

TEST_F(LoaderTest, NamesSampleAndValueOfAnIntegerThatDoesNotFit) {
  write(5, {0, 1, 2, 0, 3000000000});
  auto session = startRunnerModel("RunnerModelBytes");
  Loader loader = load(*session);
  loader.bindRange(0);
  EXPECT_ERROR(loader.bindRange(1),
               "label.npy: sample 4: the value 3000000000 does not fit into U8 of the label");
}

TEST_F(LoaderTest, RefusesFilesThatDoNotFit) {
  Samples samples(8);
  writeNpy(folder / "x.npy", samples.x, {3});
  writeNpy(folder / "label.npy", samples.label, {1});
  expectRefusal("label.npy: its shape does not fit the label\n"
                "  expected [samples]\n"
                "  found    [8, 1]\n"
                "help: numpy.save(\"x.npy\", a.reshape(-1))");

  writeNpy(folder / "label.npy", samples.label);
  writeNpy(folder / "x.npy", samples.x, {4});
  expectRefusal("x.npy: its shape does not fit input x\n"
                "  expected [samples, 3]\n"
                "  found    [6, 4]\n"
                "help: the first dimension");

  writeFile(folder / "x.npy", npyPreamble(HS_F32, {}) + std::string(4, '\0'));
  expectRefusal("found    []");

  writeNpy(folder / "x.npy", Samples(9).x, {3});
  expectRefusal("label.npy: 8 samples, but ");

  writeNpy(folder / "x.npy", samples.x, {3});
  expectRefusal("label.npy: its elements are float32, but the label takes class ids\n"
                "help: numpy.save(\"x.npy\", a.astype(numpy.int64))",
                "RunnerModelClasses");
}

TEST_F(LoaderTest, NoticesATruncatedFile) {
  Samples samples = write(4000); // x: twelve pages
  auto session = startRunnerModel();
  Loader loader = load(*session);
  loader.checkComplete();
  std::filesystem::resize_file(folder / "x.npy", 20000);
  EXPECT_ERROR(loader.checkComplete(),
               "x.npy: it was truncated while it was in use, from 48128 to 20000 bytes");

  loader.bindRange(0);
  EXPECT_EQ(outputs(*session)[0], predict(samples, 0));
  EXPECT_FALSE(LostPages::occurred());
  loader.bindRange(3900);
  EXPECT_EQ(outputs(*session), std::vector<float>(4, 0)); // read as zeros, in the kernel itself
  EXPECT_TRUE(LostPages::occurred());
  // Restoring the size does not restore what was read.
  std::filesystem::resize_file(folder / "x.npy", 48128);
  EXPECT_ERROR(loader.checkComplete(), "a page of a mapped file could not be read");
}

TEST(LostPagesDeathTest, OtherBusErrorsTakeTheirCourse) {
  EXPECT_DEATH(
      {
        LostPages lostPages;
        raise(SIGBUS);
        raise(SIGBUS);
        _exit(0);
      },
      "");
}

} // namespace
