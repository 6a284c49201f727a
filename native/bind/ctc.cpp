// Connectionist temporal classification and its gradient.
#include "kernels/ctc.h"

#include <nanobind/nanobind.h>

#include "bind/index_check.h"
#include "executor/step.h"
#include "runtime/copies.h"

namespace nb = nanobind;

namespace lumus {
namespace {

constexpr std::int64_t kCostOfLabel = 16;  // exponentials and logarithms, in elements moved

DType computed(DType dtype) { return is_half(dtype) ? DType::float32 : dtype; }

// The inputs but for the gradient, as the kernels take them. Throws OutsideIndex for labels that
// are no classes, and for counts beyond what there is: the kernels would read there.
class Call {
 public:
  explicit Call(Views inputs)
      : logarithms_(dense(*inputs[0], computed(inputs[0]->dtype))),
        labels_(dense(*inputs[1], DType::int64)),
        num_counted_(dense(*inputs[2], DType::int64)),
        num_targets_(dense(*inputs[3], DType::int64)) {
    const View& view = logarithms_.view;
    task_.dtype = view.dtype;
    task_.logarithms = view.data;
    task_.num_frames = view.shape[0];
    task_.batch = view.shape[1];
    task_.classes = view.shape[2];
    task_.labels = data_of<std::int64_t>(labels_.view);
    task_.num_labels = labels_.view.shape[1];
    task_.num_counted = data_of<std::int64_t>(num_counted_.view);
    task_.num_targets = data_of<std::int64_t>(num_targets_.view);
    check_inside(labels_.view, 0, task_.classes, 2);
    check_inside(num_counted_.view, 0, task_.num_frames + 1, 0);
    check_inside(num_targets_.view, 0, (task_.num_labels + 1) / 2, 1);
  }

  const CtcTask& task() const { return task_; }

 private:
  Array logarithms_, labels_, num_counted_, num_targets_;
  CtcTask task_{};
};

std::int64_t work_of(const View& logarithms, const View& labels) {
  return logarithms.shape[0] * num_elements(labels) * kCostOfLabel;
}

Step* ctc_step() {
  const auto run = [](Views inputs, Views outputs) {
    const Call call(inputs);
    write_rounded(*outputs[0], call.task().dtype,
                  [&](const View& losses) { ctc_kernels().forward(call.task(), losses.data); });
  };
  return make_step({4}, run, [](Views inputs, Views) { return work_of(*inputs[0], *inputs[1]); });
}

// Of the gradient of the losses, and what ctc takes.
Step* ctc_grad_step() {
  const auto run = [](Views inputs, Views outputs) {
    const Call call(inputs + 1);
    const Array grads = dense(*inputs[0], call.task().dtype);
    write_rounded(*outputs[0], call.task().dtype, [&](const View& output) {
      ctc_kernels().backward(call.task(), grads.view.data, output.data);
    });
  };
  const auto work = [](Views inputs, Views outputs) {
    return work_of(*inputs[1], *inputs[2]) + num_elements(*outputs[0]);
  };
  return make_step({5}, run, work);
}

}  // namespace
}  // namespace lumus

void bind_ctc(nb::module_& m) {
  m.def("ctc_step", lumus::ctc_step);
  m.def("ctc_grad_step", lumus::ctc_grad_step);
}
