//===- optimizer_test.cpp - Optimizers against their definitions ----------===//
//
// Weights w with the loss mean(w * x), so that the gradient is x / n, given by the test. The
// reference is written from the pseudo-code of torch.optim's documentation, in double; the step is
// compiled in f64, so that a wrong constant anywhere shows.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "Source.h"
#include "runtime/Session.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace halfstep;

namespace {
using Vector = std::vector<double>;
constexpr int64_t kSize = 4;

/// Gradients of six steps: changing signs, a zero, one that overflows f16 when scaled by 65536.
const std::vector<Vector> kGradients = {{0.5, -1, 0, 2},   {0.25, -1.5, 0, -2},
                                        {-1, 0.125, 0, 3}, {0.75, -0.5, 0, 0.5},
                                        {2, -1, 0, 1},     {0.5, 1, 0, -1}};
const Vector kStart = {1, -2, 3, 0.5};

/// One weight after the gradients g, by the definition of an optimizer.
using Definition = std::function<double(double w, const Vector &g)>;

Vector train(const ProgramOptions &options) {
  auto context = makeContext();
  std::string type = "4xf64";
  Program program(*context,
                  forward({input("x", type), parameter("w", type)},
                          typed("%y = train.mul %w, %x", {type, type}, type), type),
                  options);
  runtime::Session &session = program.running();
  program.setParameter("w", kStart);
  for (const Vector &gradient : kGradients) {
    Vector x = gradient;
    for (double &value : x)
      value *= kSize;
    session.bindInput(0, x.data());
    session.micro();
    session.update();
  }
  Vector result(kSize);
  session.read(*session.find(HS_PARAMETER, "w"), result.data());
  return result;
}

void expectFollows(const std::string &optimizer, const Definition &definition,
                   const std::string &schedule = "constant") {
  ProgramOptions options;
  options.recipe.optimizer = optimizer;
  options.recipe.schedule = schedule;
  Vector result = train(options);
  for (int64_t i = 0; i < kSize; ++i) {
    Vector gradients;
    for (const Vector &g : kGradients)
      gradients.push_back(g[i]);
    EXPECT_NEAR(result[i], definition(kStart[i], gradients), 1e-13)
        << optimizer << ", weight " << i;
  }
}

Definition sgd(double lr, double momentum, double dampening, double decay, bool nesterov) {
  return [=](double w, const Vector &gradients) {
    double buffer = 0;
    for (size_t t = 0; t < gradients.size(); ++t) {
      double g = gradients[t] + decay * w;
      if (momentum != 0) {
        buffer = t == 0 ? g : momentum * buffer + (1 - dampening) * g;
        g = nesterov ? g + momentum * buffer : buffer;
      }
      w -= lr * g;
    }
    return w;
  };
}

Definition adam(double lr, double beta1, double beta2, double eps, double decay, bool decoupled,
                bool amsgrad) {
  return [=](double w, const Vector &gradients) {
    double m = 0, v = 0, largest = 0;
    for (size_t t = 1; t <= gradients.size(); ++t) {
      double g = gradients[t - 1];
      if (decoupled)
        w -= lr * decay * w;
      else
        g += decay * w;
      m = beta1 * m + (1 - beta1) * g;
      v = beta2 * v + (1 - beta2) * g * g;
      double mHat = m / (1 - std::pow(beta1, t)), vHat = v / (1 - std::pow(beta2, t));
      if (amsgrad) {
        largest = std::max(largest, v);
        vHat = largest / (1 - std::pow(beta2, t));
      }
      w -= lr * mHat / (std::sqrt(vHat) + eps);
    }
    return w;
  };
}

Definition rmsprop(double lr, double alpha, double eps, double decay, double momentum,
                   bool centered) {
  return [=](double w, const Vector &gradients) {
    double v = 0, average = 0, buffer = 0;
    for (double g : gradients) {
      g += decay * w;
      v = alpha * v + (1 - alpha) * g * g;
      double variance = v;
      if (centered) {
        average = alpha * average + (1 - alpha) * g;
        variance -= average * average;
      }
      double move = g / (std::sqrt(variance) + eps);
      buffer = momentum * buffer + move;
      w -= lr * (momentum != 0 ? buffer : move);
    }
    return w;
  };
}

TEST(Optimizers, FollowTheirDefinitions) {
  expectFollows("sgd:lr=0.1", sgd(0.1, 0, 0, 0, false));
  expectFollows("sgd:lr=0.1,weight_decay=0.2", sgd(0.1, 0, 0, 0.2, false));
  expectFollows("sgd:lr=0.1,momentum=0.9", sgd(0.1, 0.9, 0, 0, false));
  expectFollows("sgd:lr=0.1,momentum=0.9,dampening=0.3,weight_decay=0.01",
                sgd(0.1, 0.9, 0.3, 0.01, false));
  expectFollows("sgd:lr=0.1,momentum=0.9,nesterov=true", sgd(0.1, 0.9, 0, 0, true));
  expectFollows("adam", adam(1e-3, 0.9, 0.999, 1e-8, 0, false, false));
  expectFollows("adam:lr=0.1,betas=0.8:0.95,eps=1e-3,weight_decay=0.1",
                adam(0.1, 0.8, 0.95, 1e-3, 0.1, false, false));
  expectFollows("adam:lr=0.1,betas=0.5:0.6,amsgrad=true",
                adam(0.1, 0.5, 0.6, 1e-8, 0, false, true));
  expectFollows("adamw:lr=0.1", adam(0.1, 0.9, 0.999, 1e-8, 1e-2, true, false));
  expectFollows("rmsprop", rmsprop(1e-2, 0.99, 1e-8, 0, 0, false));
  expectFollows("rmsprop:lr=0.1,alpha=0.9,eps=1e-3,weight_decay=0.1,momentum=0.5,centered=true",
                rmsprop(0.1, 0.9, 1e-3, 0.1, 0.5, true));
}

TEST(Schedules, CosineFollowsItsClosedForm) {
  expectFollows(
      "sgd:lr=0.1",
      [](double w, const Vector &gradients) {
        for (size_t t = 0; t < gradients.size(); ++t)
          w -= (0.01 + (0.1 - 0.01) * (1 + std::cos(M_PI * t / 4)) / 2) * gradients[t];
        return w;
      },
      "cosine:t_max=4,eta_min=0.01");
}

TEST(Clipping, BoundsTheNormOfAllGradients) {
  ProgramOptions options;
  options.recipe.optimizer = "sgd:lr=1";
  options.recipe.clipNorm = 0.5;
  Vector expected = kStart;
  for (const Vector &gradient : kGradients) {
    double norm = 0;
    for (double g : gradient)
      norm += g * g;
    double factor = std::min(1.0, 0.5 / (std::sqrt(norm) + 1e-6));
    for (int64_t i = 0; i < kSize; ++i)
      expected[i] -= factor * gradient[i];
  }
  Vector result = train(options);
  for (int64_t i = 0; i < kSize; ++i)
    EXPECT_NEAR(result[i], expected[i], 1e-13);
}
} // namespace
