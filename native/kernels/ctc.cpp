// Connectionist temporal classification, by sums over paths forwards and backwards.
//
// Layout. A row of the batch is walked frame by frame; all labels of a frame side by side, with two
// places of -inf before (and after) them that stand for what is not there.
//
// Aliasing. Results share nothing with the inputs.
//
// Threads. Rows of the batch are independent and shared out by size.
//
// Numerics. Logarithms of probabilities in float64, whatever the dtype: over many frames float32
// would lose the digits that the gradient is made of. Backward goes forwards once more and keeps
// the sums of one row at a time, so nothing is kept between the two passes.
#include "kernels/ctc.h"

#include <cstring>

#include "kernels/math.h"
#include "runtime/scratch.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {
namespace {

constexpr std::int64_t kGrain = 4096;  // labels of frames that a thread takes at once
constexpr std::int64_t kMargin = 8;    // doubles of -inf before and after a line of labels
constexpr double kNothing = -__builtin_inf();

// log(e^a + e^b + e^c); -inf where all are.
LUMUS_INLINE f64v log_of_sum(f64v a, f64v b, f64v c) {
  const f64v largest = maximum(maximum(a, b), c);
  const f64v shift = largest == splat<double>(kNothing) ? f64v{} : largest;
  return log(exp(a - shift) + exp(b - shift) + exp(c - shift)) + shift;
}

double log_of_sum(double a, double b) {
  return log_of_sum(splat<double>(a), splat<double>(b), splat<double>(kNothing))[0];
}

// One row of the batch.
template <class T>
struct Row {
  const CtcTask& task;
  std::int64_t row;
  const std::int64_t* labels;
  std::int64_t width;   // labels that count
  std::int64_t frames;  // that count

  Row(const CtcTask& of, std::int64_t number)
      : task(of),
        row(number),
        labels(of.labels + number * of.num_labels),
        width(2 * of.num_targets[number] + 1),
        frames(of.num_counted[number]) {}

  const T* at(std::int64_t frame) const {
    return reinterpret_cast<const T*>(task.logarithms) + (frame * task.batch + row) * task.classes;
  }

  // Doubles between lines of labels, margins included.
  std::int64_t pitch() const { return (width + 3 * kMargin - 1) / kMargin * kMargin; }

  // 0 where the label two places before may be followed directly, else -inf.
  void write_skips(double* skips) const {
    for (std::int64_t s = 0; s < width; ++s) {
      const bool may_skip = s % 2 == 1 && s >= 3 && labels[s] != labels[s - 2];
      skips[s] = may_skip ? 0 : kNothing;
    }
  }

  void gather(std::int64_t frame, double* line) const {
    const T* const from = at(frame);
    for (std::int64_t s = 0; s < width; ++s) line[s] = static_cast<double>(from[labels[s]]);
  }

  // The sums over all ways to be at each label after a frame, from those after the frame before.
  void step(const double* before, const double* skips, const double* emissions,
            double* after) const {
    for (std::int64_t s = 0; s < width; s += kLanes<double>) {
      const f64v sums = log_of_sum(load<double>(before + s), load<double>(before + s - 1),
                                   load<double>(before + s - 2) + load<double>(skips + s));
      store<double>(after + s, sums + load<double>(emissions + s));
    }
    // What a store writes beyond the labels counts as not there.
    for (std::int64_t s = width; s < width + kMargin; ++s) after[s] = kNothing;
  }

  // The sums over all ways from each label on, given those from the next frame on, in which that
  // frame is included.
  void step_back(const double* next, const double* skips, double* before) const {
    for (std::int64_t s = 0; s < width; s += kLanes<double>) {
      const f64v sums = log_of_sum(load<double>(next + s), load<double>(next + s + 1),
                                   load<double>(next + s + 2) + load<double>(skips + s + 2));
      store<double>(before + s, sums);
    }
    for (std::int64_t s = width; s < width + kMargin; ++s) before[s] = kNothing;
  }

  double last_sum(const double* line) const {
    return log_of_sum(line[width - 1], width > 1 ? line[width - 2] : kNothing);
  }
};

// Lines of -inf; `lines` begins after the margin.
struct LinesOf {
  Scratch scratch;
  double* lines;

  LinesOf(std::int64_t count, std::int64_t pitch)
      : scratch(count * pitch * static_cast<std::int64_t>(sizeof(double))),
        lines(scratch.as<double>() + kMargin) {
    double* const all = scratch.as<double>();
    for (std::int64_t i = 0; i < count * pitch; ++i) all[i] = kNothing;
  }
};

template <class T>
double loss_of(const Row<T>& row) {
  const std::int64_t pitch = row.pitch();
  const LinesOf made(4, pitch);
  double* const skips = made.lines;
  double* const emissions = skips + pitch;
  double* before = emissions + pitch;
  double* after = before + pitch;
  row.write_skips(skips);
  before[0] = 0;  // before the first frame: as if at the first blank
  for (std::int64_t frame = 0; frame < row.frames; ++frame) {
    row.gather(frame, emissions);
    row.step(before, skips, emissions, after);
    double* const free = before;
    before = after;
    after = free;
  }
  return 0 - row.last_sum(before);
}

template <class T>
void grad_of(const Row<T>& row, double grad, T* output) {
  const std::int64_t pitch = row.pitch();
  const LinesOf made(4 + row.frames, pitch);
  double* const skips = made.lines;
  double* const emissions = skips + pitch;
  double* const onward = emissions + pitch;
  double* const next = onward + pitch;
  double* const sums = next + pitch;
  row.write_skips(skips);
  for (std::int64_t frame = 0; frame < row.frames; ++frame) {
    row.gather(frame, emissions);
    // `next` stands for the line before the first frame.
    if (frame == 0) next[0] = 0;
    row.step(frame == 0 ? next : sums + (frame - 1) * pitch, skips, emissions,
             sums + frame * pitch);
  }
  const double total = row.last_sum(sums + (row.frames - 1) * pitch);
  if (total == kNothing) return;
  next[0] = kNothing;
  for (std::int64_t s = row.width - 1; s >= 0 && s >= row.width - 2; --s) onward[s] = 0;
  for (std::int64_t frame = row.frames - 1; frame >= 0; --frame) {
    const double* const so_far = sums + frame * pitch;
    T* const out = output + (frame * row.task.batch + row.row) * row.task.classes;
    for (std::int64_t s = 0; s < row.width; s += kLanes<double>) {
      const f64v share = exp(load<double>(so_far + s) + load<double>(onward + s) - total);
      for (std::int64_t lane = 0; lane < kLanes<double> && s + lane < row.width; ++lane) {
        T* const at = out + row.labels[s + lane];
        *at = static_cast<T>(static_cast<double>(*at) - grad * share[lane]);
      }
    }
    row.gather(frame, emissions);
    for (std::int64_t s = 0; s < row.width; ++s) next[s] = onward[s] + emissions[s];
    row.step_back(next, skips, onward);
  }
}

template <class Body>
void for_rows(const CtcTask& task, const Body& body) {
  const std::int64_t work = task.num_frames * task.num_labels + 1;
  parallel_for(task.batch, 1 + kGrain / work, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) body(row);
  });
}

template <class T>
void forward_of(const CtcTask& task, std::byte* losses) {
  for_rows(task, [&](std::int64_t row) {
    reinterpret_cast<T*>(losses)[row] = static_cast<T>(loss_of(Row<T>(task, row)));
  });
}

template <class T>
void backward_of(const CtcTask& task, const std::byte* grads, std::byte* output) {
  const std::int64_t size = task.num_frames * task.batch * task.classes;
  std::memset(output, 0, static_cast<std::size_t>(size) * sizeof(T));
  for_rows(task, [&](std::int64_t number) {
    const Row<T> row(task, number);
    if (row.frames == 0) return;
    grad_of(row, static_cast<double>(reinterpret_cast<const T*>(grads)[number]),
            reinterpret_cast<T*>(output));
  });
}

void forward(const CtcTask& task, std::byte* losses) {
  return task.dtype == DType::float64 ? forward_of<double>(task, losses)
                                      : forward_of<float>(task, losses);
}

void backward(const CtcTask& task, const std::byte* grads, std::byte* output) {
  return task.dtype == DType::float64 ? backward_of<double>(task, grads, output)
                                      : backward_of<float>(task, grads, output);
}

}  // namespace

extern const CtcKernels ctc_table;
const CtcKernels ctc_table = {&forward, &backward};

}  // namespace lumus::LUMUS_ISA
