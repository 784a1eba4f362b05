//===- checkpoint_test.cpp - Saving survives whatever happens, resuming is exact --------------===//

#include "Models.h"

#include "runtime/Checkpoint.h"

#include <csignal>
#include <cstring>
#include <random>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>

using namespace halfstep::runtime;

namespace {

class CheckpointTest : public testing::Test {
protected:
  TemporaryFolder folder;
  std::string path = folder / "run.safetensors";
};

// A session of a model with `features` weights, all `value`.
std::unique_ptr<Session> uniformSession(const std::string &model, float value) {
  auto session = std::make_unique<Session>(loadModel(model), 1);
  size_t features = size_t(session->artefact().inputs[0].shape[1]);
  std::string weights = weightsFile(std::vector<float>(features, value));
  session->initialise(Safetensors::parse("weights", weights));
  return session;
}

void fillWeights(Session &session, float value) {
  const hs_tensor &weight = *session.find(HS_PARAMETER, "fc.weight");
  std::vector<float> values(weight.slice.bytes / 4, value);
  session.write(weight, values.data());
}

//===------------------------------------------------------------------------------------------===//
// Contents
//===------------------------------------------------------------------------------------------===//

TEST_F(CheckpointTest, HoldsAllThatARunNeeds) {
  auto session = startSession();
  for (int step = 0; step < 3; ++step)
    trainOneStep(*session, step);
  saveCheckpoint(*session, path, {{"seed", "7"}});

  Safetensors file = Safetensors::open(path);
  std::vector<std::string> names;
  for (const NamedTensor &tensor : file.tensors())
    names.push_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string>{"fc.weight", "halfstep/applied", "halfstep/iteration",
                                             "halfstep/lr", "halfstep/momentum/fc.weight"}));
  EXPECT_EQ(file.metadata(), (Metadata{{"graph_hash", "abc123"},
                                       {"halfstep_format", "1"},
                                       {"recipe", R"({"optimizer":"sgd:lr=0.125,momentum=0.9"})"},
                                       {"seed", "7"}}));
  double iteration;
  memcpy(&iteration, file.find("halfstep/iteration")->data, 8);
  EXPECT_EQ(iteration, 3);
}

TEST_F(CheckpointTest, ResumingIsExact) {
  auto whole = startSession();
  for (int step = 0; step < 50; ++step)
    trainOneStep(*whole, step);
  saveCheckpoint(*whole, folder / "whole", {{"seed", "7"}});

  auto first = startSession();
  first->writeScalar(*first->find(HS_HYPERPARAMETER, "lr"), 0.125);
  for (int step = 0; step < 20; ++step)
    trainOneStep(*first, step);
  saveCheckpoint(*first, path, {{"seed", "7"}});

  // Into a session that has gone elsewhere, with other threads.
  auto second = startSession(2);
  trainOneStep(*second, 1000);
  EXPECT_EQ(restoreCheckpoint(*second, path).at("seed"), "7");
  for (int step = 20; step < 50; ++step)
    trainOneStep(*second, step);
  EXPECT_EQ(second->record(49).loss, whole->record(49).loss);
  saveCheckpoint(*second, path, {{"seed", "7"}});
  EXPECT_EQ(readFile(path), readFile(folder / "whole"));
}

TEST_F(CheckpointTest, ServesAsWeights) {
  auto session = startSession();
  trainOneStep(*session, 0);
  saveCheckpoint(*session, path);
  auto other = startSession();
  other->loadParameters(Safetensors::open(path));
  const hs_tensor &weight = *session->find(HS_PARAMETER, "fc.weight");
  EXPECT_EQ(memcmp(session->data(weight), other->data(weight), 20), 0);
  EXPECT_EQ(other->readScalar(*other->find(HS_COUNTER, "iteration")), 0);
}

//===------------------------------------------------------------------------------------------===//
// Checkpoints of other runs
//===------------------------------------------------------------------------------------------===//

TEST_F(CheckpointTest, RefusesAnotherModelAndChangesNothing) {
  saveCheckpoint(*startSession(), path);
  auto other = uniformSession("OtherShape", 7);
  EXPECT_ERROR(restoreCheckpoint(*other, path),
               "run.safetensors: is a checkpoint of another run: tensor 'fc.weight' is F32[5] in "
               "it, F32[6] in the model\n  tensor 'halfstep/momentum/fc.weight' is F32[5] in it");
  EXPECT_EQ(static_cast<const float *>(other->data(*other->find(HS_PARAMETER, "fc.weight")))[5], 7);
  Session sameShape(loadModel("OtherGraph"), 1);
  EXPECT_ERROR(restoreCheckpoint(sameShape, path), "has changed");
}

TEST_F(CheckpointTest, NamesTheFirstTensorThatDiffers) {
  std::vector<float> floats(5, 1.0f);
  std::vector<double> doubles(5, 1.0);
  auto vectorOf = [&](const char *name) {
    return NamedTensor{name, HS_F32, {5}, floats.data(), 20};
  };
  auto scalar = [&](const char *name) { return NamedTensor{name, HS_F64, {}, doubles.data(), 8}; };
  std::vector<NamedTensor> good = {vectorOf("fc.weight"), vectorOf("halfstep/momentum/fc.weight"),
                                   scalar("halfstep/applied"), scalar("halfstep/iteration"),
                                   scalar("halfstep/lr")};
  const Metadata metadata = {{"halfstep_format", "1"}, {"graph_hash", "abc123"}};
  auto session = startSession();
  auto restore = [&](std::vector<NamedTensor> tensors, const Metadata &metadata) {
    writeSafetensors(path, tensors, metadata);
    restoreCheckpoint(*session, path);
  };
  restore(good, metadata);

  auto without = good;
  without.erase(without.begin() + 1);
  EXPECT_ERROR(restore(without, metadata), "tensor 'halfstep/momentum/fc.weight' is missing in it");
  // What a run in another mode has and this one does not.
  auto scaled = good;
  for (const char *name :
       {"halfstep/scale", "halfstep/growth", "halfstep/max_skips", "halfstep/micro"})
    scaled.push_back(scalar(name));
  restore(scaled, metadata);
  scaled.push_back(scalar("scale"));
  EXPECT_ERROR(restore(scaled, metadata), "tensor 'scale' is F64[] in it, missing in the model");
  auto with = good;
  with.push_back(scalar("halfstep/exp_avg/fc.weight"));
  EXPECT_ERROR(restore(with, metadata), "'halfstep/exp_avg/fc.weight' is F64[] in it, missing in");
  auto wide = good;
  wide[0] = {"fc.weight", HS_F64, {5}, doubles.data(), 40};
  EXPECT_ERROR(restore(wide, metadata), "tensor 'fc.weight' is F64[5] in it, F32[5] in the model");
  EXPECT_ERROR(restore(good, {}), "is not a checkpoint");
  EXPECT_ERROR(restore(good, {{"halfstep_format", "2"}}), "is not a checkpoint");
  EXPECT_ERROR(restore(good, {{"halfstep_format", "1"}, {"graph_hash", "?"}}), "has changed");

  auto foreign = good;
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i)
    names.push_back("extra" + std::to_string(i));
  for (const std::string &name : names)
    foreign.push_back(scalar(name.c_str()));
  EXPECT_ERROR(restore(foreign, metadata), "\n  and 11 more\nhelp: resume with");
}

TEST_F(CheckpointTest, RefusesDamagedFiles) {
  auto session = startSession();
  saveCheckpoint(*session, path);
  std::string whole = readFile(path);
  for (size_t length = 0; length < whole.size(); ++length) {
    writeFile(path, whole.substr(0, length));
    EXPECT_NE(errorOf([&] { restoreCheckpoint(*session, path); }), "") << length;
  }
  EXPECT_ERROR(restoreCheckpoint(*session, folder / "none"), "none: cannot open");
}

//===------------------------------------------------------------------------------------------===//
// Saving
//===------------------------------------------------------------------------------------------===//

TEST_F(CheckpointTest, ReplacesOnlyRegularFiles) {
  auto session = startSession();
  EXPECT_ERROR(saveCheckpoint(*session, folder.path), "is not a regular file");
  EXPECT_ERROR(saveCheckpoint(*session, "/dev/null"), "is not a regular file");
  EXPECT_ERROR(saveCheckpoint(*session, folder / "no/such/folder"), "cannot write: No such file");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(CheckpointTest, FollowsSymbolicLinks) {
  std::filesystem::create_directory(folder / "disk");
  std::filesystem::create_symlink("disk/real", path);
  saveCheckpoint(*startSession(), path);
  EXPECT_TRUE(std::filesystem::is_symlink(path));
  EXPECT_TRUE(std::filesystem::is_regular_file(folder / "disk/real"));
}

TEST_F(CheckpointTest, KeepsWritersApart) {
  ReplacedFile first(path);
  EXPECT_ERROR(ReplacedFile second(path), "is being written by another process");
  first.write("abc", 3);
  first.commit();
  {
    ReplacedFile abandoned(path);
    abandoned.write("x", 1);
  }
  EXPECT_EQ(readFile(path), "abc");
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
}

/// While this lives, the process has at most `most` of a resource.
class Limit {
public:
  Limit(int resource, rlim_t most) : resource(resource) {
    getrlimit(__rlimit_resource(resource), &before);
    rlimit now{most, before.rlim_max};
    setrlimit(__rlimit_resource(resource), &now);
  }
  ~Limit() { setrlimit(__rlimit_resource(resource), &before); }

private:
  int resource;
  rlimit before;
};

TEST_F(CheckpointTest, SaysWhatTheSystemRefuses) {
  {
    ReplacedFile file(path);
    std::filesystem::create_directory(path);
    EXPECT_ERROR(file.commit(), "run.safetensors: cannot replace: Is a directory");
    std::filesystem::remove(path);
  }
  {
    ReplacedFile file(path);
    Limit none(RLIMIT_NOFILE, 0);
    EXPECT_ERROR(file.commit(), "run.safetensors: cannot sync its folder: Too many open files");
  }
  std::filesystem::resize_file(path, uint64_t(1) << 36);
  Limit space(RLIMIT_AS, rlim_t(1) << 34);
  EXPECT_ERROR(MappedFile::open(path), "run.safetensors: cannot map: Cannot allocate memory");
}

// That a failing save of `session` onto `path` leaves the checkpoint that is there.
void expectOldSurvives(const Session &session, const std::string &path,
                       const std::string &message) {
  std::string before = readFile(path);
  EXPECT_ERROR(saveCheckpoint(session, path), message);
  EXPECT_TRUE(readFile(path) == before);
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
}

// The signal that comes with it would end this test.
TEST_F(CheckpointTest, SurvivesAFileSizeLimit) {
  auto session = uniformSession("MediumModel", 1);
  saveCheckpoint(*session, path);
  fillWeights(*session, 2);

  struct rlimit before, tight;
  getrlimit(RLIMIT_FSIZE, &before);
  tight = before;
  tight.rlim_cur = 500000;
  setrlimit(RLIMIT_FSIZE, &tight);
  expectOldSurvives(*session, path, "run.safetensors: cannot write: File too large");
  setrlimit(RLIMIT_FSIZE, &before);
  saveCheckpoint(*session, path);
}

TEST_F(CheckpointTest, SurvivesAFullDisk) {
  std::string disk = folder / "disk";
  std::filesystem::create_directory(disk);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1m") != 0)
    GTEST_SKIP() << "mounting takes privileges";
  auto session = uniformSession("MediumModel", 1);
  saveCheckpoint(*session, disk + "/run");
  fillWeights(*session, 2);
  expectOldSurvives(*session, disk + "/run", "/run: cannot write: No space left on device");
  umount(disk.c_str());
}

// A child saves again and again, each time with other weights, until it is killed. What is then
// under the name is one whole checkpoint.
TEST_F(CheckpointTest, SurvivesKills) {
  auto session = uniformSession("LargeModel", 0);
  saveCheckpoint(*session, path);
  ASSERT_GT(std::filesystem::file_size(path), 100'000'000u);

  std::minstd_rand random(1);
  int killsWhileWriting = 0;
  for (int round = 0; round < 20; ++round) {
    pid_t child = fork();
    if (child == 0) {
      for (float value = 1;; ++value) {
        fillWeights(*session, value);
        saveCheckpoint(*session, path);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 400));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    killsWhileWriting += std::filesystem::exists(path + ".part");

    restoreCheckpoint(*session, path);
    const hs_tensor &weight = *session->find(HS_PARAMETER, "fc.weight");
    auto *values = static_cast<const float *>(session->data(weight));
    size_t count = weight.slice.bytes / 4;
    ASSERT_EQ(std::count(values, values + count, values[0]), int64_t(count)) << round;
  }
  EXPECT_GT(killsWhileWriting, 0) << "the test has missed what it is for";
}

} // namespace
