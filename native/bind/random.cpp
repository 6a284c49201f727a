// Random arrays.
#include "kernels/random.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>

#include <string_view>

#include "bind/conversion.h"
#include "bind/random.h"
#include "bind/release.h"
#include "executor/step.h"
#include "runtime/copies.h"

namespace nb = nanobind;

namespace lumus {
namespace {

Array make_shaped(DType dtype, nb::tuple shape) {
  std::int64_t sizes[kMaxRank];
  const int rank = read_integers(shape, sizes);
  return make_array(dtype, rank, sizes);
}

// The bits [64 part, 64 part + 64) of a Python int that is not negative.
std::uint64_t bits_of(nb::int_ number, int part) {
  const nb::object shifted = number >> nb::int_(64 * part);
  return PyLong_AsUnsignedLongLongMask(shifted.ptr());
}

// `count` words of the cipher's stream, as int64. The counter may have 128 bits.
Array random_bits(nb::int_ seed, nb::int_ counter, std::int64_t count) {
  const PhiloxStream stream = {bits_of(seed, 0), bits_of(counter, 0), bits_of(counter, 1)};
  Array result = make_array(DType::int64, 1, &count);
  run_released(count, [&] { random_kernels().words(result.view, stream); });
  return result;
}

Array random_uniform(const Array& key, int dtype, nb::tuple shape) {
  const PhiloxStream stream = stream_of(key);
  Array result = make_shaped(static_cast<DType>(dtype), shape);
  run_released(num_elements(result.view), [&] { random_kernels().uniform(result.view, stream); });
  return result;
}

Array random_normal(const Array& key, int dtype, nb::tuple shape) {
  const PhiloxStream stream = stream_of(key);
  Array result = make_shaped(static_cast<DType>(dtype), shape);
  run_released(num_elements(result.view), [&] { random_kernels().normal(result.view, stream); });
  return result;
}

Array random_bernoulli(const Array& key, double probability, nb::tuple shape) {
  const PhiloxStream stream = stream_of(key);
  Array result = make_shaped(DType::boolean, shape);
  run_released(num_elements(result.view),
               [&] { random_kernels().bernoulli(result.view, stream, probability); });
  return result;
}

Array random_exponential(const Array& key, int dtype, nb::tuple shape) {
  const PhiloxStream stream = stream_of(key);
  Array result = make_shaped(static_cast<DType>(dtype), shape);
  run_released(num_elements(result.view),
               [&] { random_kernels().exponential(result.view, stream); });
  return result;
}

// `probabilities` is float64, of as many elements as the result.
void write_bernoulli_each(const View& to, const View& key, const View& probabilities) {
  const Array each = dense(probabilities);
  random_kernels().bernoulli_each(to, stream_of(key), data_of<double>(each.view));
}

Array random_bernoulli_each(const Array& key, const Array& probabilities, nb::tuple shape) {
  Array result = make_shaped(DType::boolean, shape);
  run_released(num_elements(result.view),
               [&] { write_bernoulli_each(result.view, key.view, probabilities.view); });
  return result;
}

// `concentrations` is float64, of one element or of as many as the result.
void write_gamma(const View& to, const View& key, const View& concentrations) {
  const Array each = dense(concentrations);
  const std::int64_t stride = num_elements(each.view) == 1 ? 0 : 1;
  random_kernels().gamma(to, stream_of(key), data_of<double>(each.view), stride);
}

constexpr std::int64_t kGammaWork = 8;  // of an element, in elements moved

Array random_gamma(const Array& key, const Array& concentrations, int dtype, nb::tuple shape) {
  Array result = make_shaped(static_cast<DType>(dtype), shape);
  run_released(kGammaWork * num_elements(result.view),
               [&] { write_gamma(result.view, key.view, concentrations.view); });
  return result;
}

Array random_integers(const Array& key, std::int64_t low, nb::int_ high, int dtype,
                      nb::tuple shape) {
  const PhiloxStream stream = stream_of(key);
  // `high` may be 2^63, and the span 2^64: their low 64 bits say it all.
  const std::uint64_t span = bits_of(high, 0) - static_cast<std::uint64_t>(low);
  Array result = make_shaped(static_cast<DType>(dtype), shape);
  run_released(num_elements(result.view),
               [&] { random_kernels().integers(result.view, stream, low, span); });
  return result;
}

// --------------------------------------------------------------------------------------- steps

// Of a key alone. Keys are read when the step runs.
Step* random_step(std::string_view distribution) {
  const RandomKernels& kernels = random_kernels();
  const auto kernel = distribution == "uniform"  ? kernels.uniform
                      : distribution == "normal" ? kernels.normal
                                                 : kernels.exponential;
  return make_step(
      {1}, [=](Views inputs, Views outputs) { kernel(*outputs[0], stream_of(*inputs[0])); });
}

Step* bernoulli_step(double probability) {
  return make_step({1}, [=](Views inputs, Views outputs) {
    random_kernels().bernoulli(*outputs[0], stream_of(*inputs[0]), probability);
  });
}

Step* integers_step(std::int64_t low, nb::int_ high) {
  const std::uint64_t span = bits_of(high, 0) - static_cast<std::uint64_t>(low);
  return make_step({1}, [=](Views inputs, Views outputs) {
    random_kernels().integers(*outputs[0], stream_of(*inputs[0]), low, span);
  });
}

// Of a key and a number for each element.
Step* bernoulli_each_step() {
  return make_step({2}, [](Views inputs, Views outputs) {
    write_bernoulli_each(*outputs[0], *inputs[0], *inputs[1]);
  });
}

std::int64_t work_of_gamma(Views, Views outputs) { return kGammaWork * num_elements(*outputs[0]); }

Step* gamma_each_step() {
  return make_step(
      {2}, [](Views inputs, Views outputs) { write_gamma(*outputs[0], *inputs[0], *inputs[1]); },
      work_of_gamma);
}

Step* gamma_step(double concentration) {
  return make_step(
      {1},
      [=](Views inputs, Views outputs) {
        random_kernels().gamma(*outputs[0], stream_of(*inputs[0]), &concentration, 0);
      },
      work_of_gamma);
}

}  // namespace
}  // namespace lumus

void bind_random(nb::module_& m) {
  using namespace lumus;
  m.def("random_bits", random_bits);
  m.def("random_uniform", random_uniform);
  m.def("random_normal", random_normal);
  m.def("random_exponential", random_exponential);
  m.def("random_bernoulli", random_bernoulli);
  m.def("random_bernoulli_each", random_bernoulli_each);
  m.def("random_gamma", random_gamma);
  m.def("random_integers", random_integers);
  m.def("random_step", random_step);
  m.def("bernoulli_step", bernoulli_step);
  m.def("bernoulli_each_step", bernoulli_each_step);
  m.def("gamma_step", gamma_step);
  m.def("gamma_each_step", gamma_each_step);
  m.def("integers_step", integers_step);
}
