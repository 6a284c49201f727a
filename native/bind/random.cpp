// Random arrays.
#include "kernels/random.h"

#include <nanobind/nanobind.h>

#include "bind/conversion.h"
#include "bind/random.h"
#include "bind/release.h"
#include "runtime/array.h"

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

// `probabilities` is float64, dense, of as many elements as the result.
Array random_bernoulli_each(const Array& key, const Array& probabilities, nb::tuple shape) {
  const PhiloxStream stream = stream_of(key);
  Array result = make_shaped(DType::boolean, shape);
  run_released(num_elements(result.view), [&] {
    random_kernels().bernoulli_each(result.view, stream, data_of<double>(probabilities.view));
  });
  return result;
}

// `concentrations` is float64, dense, of one element or of as many as the result.
Array random_gamma(const Array& key, const Array& concentrations, int dtype, nb::tuple shape) {
  const PhiloxStream stream = stream_of(key);
  Array result = make_shaped(static_cast<DType>(dtype), shape);
  const std::int64_t count = num_elements(result.view);
  const std::int64_t stride = num_elements(concentrations.view) == 1 ? 0 : 1;
  run_released(8 * count, [&] {
    const double* const from = data_of<double>(concentrations.view);
    random_kernels().gamma(result.view, stream, from, stride);
  });
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
}
