// A kernel made ready to be run over and over: what does not change between calls is decided, and
// its results go into memory that is given.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <utility>

#include "runtime/view.h"

namespace lumus {

// The views of a step's inputs or outputs, in order.
using Views = const View* const*;

// Which inputs an output may be the very same view of (of one dtype and shape, it follows).
enum class InPlace : std::uint8_t { none, first, all };

// How outputs may lie in memory: dense in row-major order, dense with their axes in any order, or
// with any strides.
enum class OutputLayout : std::uint8_t { dense, permuted, strided };

struct StepTraits {
  int num_inputs;
  int num_outputs = 1;
  InPlace in_place = InPlace::none;
  OutputLayout output_layout = OutputLayout::dense;
};

// Touches no Python object, so that it runs on any thread, with and without the interpreter lock.
class Step {
 public:
  explicit Step(const StepTraits& traits) : traits_(traits) {}
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  virtual ~Step() = default;

  const StepTraits& traits() const { return traits_; }

  // Throws std::invalid_argument for views that `run` could not take. Done once for views that
  // change but in where their memory lies.
  virtual void check(Views, Views) const {}

  // Computes the outputs. Inputs have any strides, and share no memory with outputs but as the
  // traits allow.
  virtual void run(Views inputs, Views outputs) const = 0;

  // About how long that takes, in elements moved.
  virtual std::int64_t work(Views inputs, Views outputs) const {
    std::int64_t count = 0;
    for (int at = 0; at < traits_.num_inputs; ++at) count += num_elements(*inputs[at]);
    for (int at = 0; at < traits_.num_outputs; ++at) count += num_elements(*outputs[at]);
    return count;
  }

 private:
  StepTraits traits_;
};

// A step whose work is the elements that it moves.
template <class Body>
class SimpleStep final : public Step {
 public:
  SimpleStep(const StepTraits& traits, Body body) : Step(traits), body_(std::move(body)) {}
  void run(Views inputs, Views outputs) const override { body_(inputs, outputs); }

 private:
  Body body_;
};

// The same with work of its own.
template <class Body, class Work>
class WeighedStep final : public Step {
 public:
  WeighedStep(const StepTraits& traits, Body body, Work work)
      : Step(traits), body_(std::move(body)), work_(std::move(work)) {}
  void run(Views inputs, Views outputs) const override { body_(inputs, outputs); }
  std::int64_t work(Views inputs, Views outputs) const override { return work_(inputs, outputs); }

 private:
  Body body_;
  Work work_;
};

// body(inputs, outputs) as a step. The caller owns it.
template <class Body>
inline Step* make_step(const StepTraits& traits, Body body) {
  return new SimpleStep<Body>(traits, std::move(body));
}
template <class Body, class Work>
inline Step* make_step(const StepTraits& traits, Body body, Work work) {
  return new WeighedStep<Body, Work>(traits, std::move(body), std::move(work));
}

}  // namespace lumus
