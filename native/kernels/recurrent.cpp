// The time loop of recurrent layers.
//
// Layout. The weights are packed once into panels, those of all gates of a group of units side by
// side; a step multiplies the hidden state by a group's panels and activates the group while it is
// in the cache. Hidden states (and the gradients that a step multiplies) lie in scratch whose rows
// are an odd number of lines apart, so that they do not fight for places in the cache.
//
// Aliasing. Results share nothing with the inputs; `gates` is both where it says so.
//
// Threads. Rows of a batch are independent of each other: where they give several blocks, each runs
// through all the steps on its own. Where they do not, or where the weights are more than one
// processor's cache holds, every step is shared out by groups of units. Either is chosen by size.
//
// Numerics. A product is the chain of multiply-adds of gemm.h, in blocks of the depth; it is added
// to the product with the inputs. Neither the way to share work nor the number of threads changes a
// bit.
#include "kernels/recurrent.h"

#include "kernels/gemm.h"
#include "kernels/math.h"
#include "runtime/scratch.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {
namespace {

constexpr std::int64_t kBlockRows = 28;           // of a batch, that go through all steps
constexpr std::int64_t kCachedWeights = 3 << 19;  // bytes that one processor's cache holds
constexpr std::int64_t kStepProducts = 1 << 16;   // multiply-adds worth a piece of a step

template <class T>
const T* typed(const std::byte* data) {
  return reinterpret_cast<const T*>(data);
}
template <class T>
T* typed(std::byte* data) {
  return reinterpret_cast<T*>(data);
}

// Calls body(i, load, store) for each vector of `count` elements; the last one may be partial.
template <class T, class Body>
LUMUS_INLINE void for_lanes(std::int64_t count, const Body& body) {
  std::int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) {
    body(
        i, [](const T* from) __attribute__((always_inline)) { return load<T>(from); },
        [](T* to, Vec<T> value) __attribute__((always_inline)) { store<T>(to, value); });
  }
  if (i < count) {
    const std::int64_t left = count - i;
    body(
        i,
        [left](const T* from)
            __attribute__((always_inline)) { return load_partial<T>(from, left, T(0)); },
        [left](T* to, Vec<T> value)
            __attribute__((always_inline)) { store_partial<T>(to, value, left); });
  }
}

template <class T>
void copy_row(T* to, const T* from, std::int64_t count) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
}
template <class T>
void clear_row(T* to, std::int64_t count) {
  std::memset(to, 0, static_cast<std::size_t>(count) * sizeof(T));
}

// ---- products with packed weights ---------------------------------------------------------------

template <class T, int kRows = kTileRows<T>>
Tile<T> tile_in_place(std::int64_t rows, bool is_wide) {
  if constexpr (kRows > 1) {
    if (rows != kRows) return tile_in_place<T, kRows - 1>(rows, is_wide);
  }
  return is_wide ? &tile<T, kRows, 2, true, false> : &tile<T, kRows, 1, true, false>;
}

// Columns of a matrix, packed in panels of kPanelColumns (the last perhaps of one vector).
template <class T>
struct Panel {
  const T* data;
  std::int64_t depth;
  std::int64_t columns;

  std::int64_t pitch() const { return columns > kLanes<T> ? kPanelColumns<T> : kLanes<T>; }
};

template <class T>
void pack_panel(const T* from, std::int64_t column_stride, std::int64_t row_stride,
                std::int64_t columns, std::int64_t depth, T* to) {
  const std::int64_t pitch = Panel<T>{to, depth, columns}.pitch();
  pack<T>(from, column_stride, row_stride, columns, columns, depth, pitch, depth * pitch, to);
}

// c[rows][columns of the panel] += a times the panel, or = with `overwrites`.
template <class T>
void multiply_panel(std::int64_t rows, const T* a, std::int64_t a_stride, const Panel<T>& panel,
                    T* c, std::int64_t c_stride, bool overwrites) {
  const Strips<T> strips(rows);
  const std::int64_t num_blocks = divided_up(panel.depth, kDepthBlock);
  const std::int64_t block = divided_up(divided_up(panel.depth, num_blocks), 16) * 16;
  TileTask<T> task;
  task.a_row_stride = a_stride;
  task.a_depth_stride = 1;
  task.b_stride = panel.pitch();
  task.packed_b = nullptr;
  task.next_b = panel.data;
  task.next_b_stride = 0;
  task.c_stride = c_stride;
  task.columns = panel.columns;
  for (std::int64_t k = 0; k < panel.depth; k += block) {
    task.depth = smaller(block, panel.depth - k);
    task.next_b_period = task.depth;
    task.accumulate = k > 0 || !overwrites;
    task.a = a + k;
    task.b = panel.data + k * panel.pitch();
    task.c = c;
    for (std::int64_t strip = 0; strip < strips.count; ++strip) {
      const std::int64_t height = strips.height + (strip < strips.num_tall);
      tile_in_place<T>(height, panel.columns > kLanes<T>)(task);
      task.a += height * a_stride;
      task.c += height * c_stride;
    }
  }
}

// ---- how the work is shared out -----------------------------------------------------------------

// Rows of a batch and groups of units, [begin, end) of each.
struct Part {
  std::int64_t row, row_end;
  std::int64_t group, group_end;
};

template <class T>
struct Plan {
  std::int64_t num_groups;      // of kPanelColumns units
  std::int64_t num_row_blocks;  // each through all steps; 1 where the steps are shared out
  std::int64_t grain;           // groups of a step that go together
  std::int64_t pitch;           // between rows of scratch of `width` elements

  Plan(const RecurrentTask& task, std::int64_t width) {
    const std::int64_t gates = num_gates(task.cell);
    num_groups = divided_up(task.hidden, kPanelColumns<T>);
    num_row_blocks = task.batch < 16 ? 1 : 2 * divided_up(task.batch, 2 * kBlockRows);
    const std::int64_t weights = gates * task.hidden * task.hidden;
    const std::int64_t group_products = task.batch * weights / (num_groups + 1) + 1;
    grain = divided_up(kStepProducts, group_products);
    const bool is_cached = weights * static_cast<std::int64_t>(sizeof(T)) <= kCachedWeights;
    if (!is_cached && num_row_blocks <= 4 && grain < num_groups) num_row_blocks = 1;
    constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(T));
    pitch = (divided_up(width, line) | 1) * line;
  }

  Part rows_of(const RecurrentTask& task, std::int64_t block) const {
    return {block * task.batch / num_row_blocks, (block + 1) * task.batch / num_row_blocks, 0,
            num_groups};
  }
};

std::int64_t step_at(const RecurrentTask& task, std::int64_t number) {
  return task.reverse ? task.num_steps - 1 - number : number;
}

bool counts(const RecurrentTask& task, std::int64_t step, std::int64_t row) {
  return !task.lengths || step < task.lengths[row];
}

bool any_counts(const RecurrentTask& task, std::int64_t step, const Part& part) {
  for (std::int64_t row = part.row; row < part.row_end; ++row) {
    if (counts(task, step, row)) return true;
  }
  return false;
}

// Whether the state before this step is the first one.
bool is_first(const RecurrentTask& task, std::int64_t step, std::int64_t row) {
  if (!task.reverse) return step == 0;
  return step + 1 == task.num_steps || (task.lengths && step + 1 >= task.lengths[row]);
}

// ---- forward ------------------------------------------------------------------------------------

template <class T, RecurrentCell kCell>
struct Forward {
  static constexpr std::int64_t gates = num_gates(kCell);
  const RecurrentForward& task;
  Plan<T> plan;
  T* panels;  // of all gates of a group, then of the next group
  T* bias;    // (gates * hidden): of both products, but for what the reset gate scales

  std::int64_t panel_size() const { return task.hidden * kPanelColumns<T>; }

  void pack_weights() const {
    const T* const weight = typed<T>(task.weight);
    const std::int64_t hidden = task.hidden;
    const std::int64_t grain = 1 + (1 << 15) / (gates * panel_size() + 1);
    parallel_for(plan.num_groups, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t index = begin * gates; index < end * gates; ++index) {
        const std::int64_t unit = index / gates * kPanelColumns<T>;
        const std::int64_t row = index % gates * hidden + unit;
        pack_panel<T>(weight + row * hidden, hidden, 1, smaller(kPanelColumns<T>, hidden - unit),
                      hidden, panels + index * panel_size());
      }
    });
  }

  void add_biases() const {
    const T* const input_bias = typed<T>(task.input_bias);
    const T* const hidden_bias = typed<T>(task.hidden_bias);
    const std::int64_t apart = kCell == RecurrentCell::gru ? 2 * task.hidden : gates * task.hidden;
    for (std::int64_t i = 0; i < gates * task.hidden; ++i) {
      bias[i] = input_bias ? input_bias[i] : T(0);
      if (hidden_bias && i < apart) bias[i] += hidden_bias[i];
    }
  }

  T* gates_at(std::int64_t step, std::int64_t row) const {
    return typed<T>(task.gates) + (step * task.batch + row) * gates * task.hidden;
  }
  T* memory_at(std::int64_t step, std::int64_t row) const {
    return typed<T>(task.memory) + (step * task.batch + row) * task.hidden;
  }

  // One group of one row that counts: gates, state, output. `sums` has the products with the state
  // before, gate by gate.
  void activate(std::int64_t step, std::int64_t row, std::int64_t unit, std::int64_t width,
                const T* sums, const T* before, T* after) const {
    T* const output = typed<T>(task.output) + (step * task.batch + row) * task.hidden + unit;
    const auto put_state = [&](std::int64_t i, Vec<T> value, auto put)
                               __attribute__((always_inline)) {
                                 put(output + i, value);
                                 put(after + i, value);
                               };
    const std::int64_t hidden = task.hidden;
    T* const at = gates_at(step, row) + unit;
    const T* const b = bias + unit;
    constexpr std::int64_t next = kPanelColumns<T>;
    if constexpr (kCell == RecurrentCell::tanh || kCell == RecurrentCell::relu) {
      for_lanes<T>(width, [&](std::int64_t i, auto get, auto put) __attribute__((always_inline)) {
        const Vec<T> x = get(at + i) + load<T>(sums + i) + get(b + i);
        if constexpr (kCell == RecurrentCell::tanh) {
          put_state(i, tanh(x), put);
        } else {
          put_state(i, x <= T(0) ? Vec<T>{} : x, put);  // NaN stays
        }
      });
    } else if constexpr (kCell == RecurrentCell::lstm) {
      T* const cell = memory_at(step, row) + unit;
      const T* const cell_before = cell_state_before(step, row) + unit;
      for_lanes<T>(width, [&](std::int64_t i, auto get, auto put) __attribute__((always_inline)) {
        const auto x = [&](std::int64_t gate) __attribute__((always_inline)) {
          return get(at + gate * hidden + i) + load<T>(sums + gate * next + i) +
                 get(b + gate * hidden + i);
        };
        const Vec<T> in = sigmoid(x(0));
        const Vec<T> forget = sigmoid(x(1));
        const Vec<T> candidate = tanh(x(2));
        const Vec<T> out = sigmoid(x(3));
        const Vec<T> state = forget * get(cell_before + i) + in * candidate;
        put(at + i, in);
        put(at + hidden + i, forget);
        put(at + 2 * hidden + i, candidate);
        put(at + 3 * hidden + i, out);
        put(cell + i, state);
        put_state(i, out * tanh(state), put);
      });
    } else {
      T* const scaled = memory_at(step, row) + unit;
      const T* const hidden_bias =
          task.hidden_bias ? typed<T>(task.hidden_bias) + 2 * hidden + unit : nullptr;
      for_lanes<T>(width, [&](std::int64_t i, auto get, auto put) __attribute__((always_inline)) {
        const Vec<T> reset = sigmoid(get(at + i) + load<T>(sums + i) + get(b + i));
        const Vec<T> keep =
            sigmoid(get(at + hidden + i) + load<T>(sums + next + i) + get(b + hidden + i));
        Vec<T> part = load<T>(sums + 2 * next + i);
        if (hidden_bias) part += get(hidden_bias + i);
        const Vec<T> fresh =
            tanh(get(at + 2 * hidden + i) + get(b + 2 * hidden + i) + reset * part);
        put(at + i, reset);
        put(at + hidden + i, keep);
        put(at + 2 * hidden + i, fresh);
        put(scaled + i, part);
        put_state(i, fresh + keep * (get(before + i) - fresh), put);
      });
    }
  }

  const T* cell_state_before(std::int64_t step, std::int64_t row) const {
    const std::int64_t earlier = task.reverse ? step + 1 : step - 1;
    if (earlier < 0 || earlier == task.num_steps) {
      return typed<T>(task.first_cell) + row * task.hidden;
    }
    return memory_at(earlier, row);
  }

  // A step of `part`, from the hidden states `before` to those `after`, whose rows begin at
  // `first_row` of the batch.
  void run_step(std::int64_t step, const Part& part, std::int64_t first_row, const T* before,
                T* after) const {
    const std::int64_t hidden = task.hidden;
    const std::int64_t num_rows = part.row_end - part.row;
    constexpr std::int64_t pitch = gates * kPanelColumns<T>;
    const bool multiplies = any_counts(task, step, part);
    const T* const rows_before = before + (part.row - first_row) * plan.pitch;
    const Scratch scratch(num_rows * pitch * static_cast<std::int64_t>(sizeof(T)));
    T* const sums = scratch.as<T>();
    for (std::int64_t group = part.group; group < part.group_end; ++group) {
      const std::int64_t unit = group * kPanelColumns<T>;
      const std::int64_t width = smaller(kPanelColumns<T>, hidden - unit);
      for (std::int64_t gate = 0; multiplies && gate < gates; ++gate) {
        for (std::int64_t row = part.row; row < part.row_end; ++row) {
          const T* const soon = gates_at(step, row) + gate * hidden + unit;
          __builtin_prefetch(soon, 1, 2);
          __builtin_prefetch(soon + width - 1, 1, 2);
        }
        const Panel<T> panel{panels + (group * gates + gate) * panel_size(), hidden, width};
        multiply_panel<T>(num_rows, rows_before, plan.pitch, panel, sums + gate * kPanelColumns<T>,
                          pitch, true);
      }
      for (std::int64_t row = part.row; row < part.row_end; ++row) {
        const T* const from = before + (row - first_row) * plan.pitch + unit;
        T* const to = after + (row - first_row) * plan.pitch + unit;
        if (counts(task, step, row)) {
          activate(step, row, unit, width, sums + (row - part.row) * pitch, from, to);
        } else {
          hold(step, row, unit, width);
          copy_row(to, from, width);
        }
      }
    }
  }

  // The output of a step that does not count, and what is kept of it for backward.
  void hold(std::int64_t step, std::int64_t row, std::int64_t unit, std::int64_t width) const {
    clear_row(typed<T>(task.output) + (step * task.batch + row) * task.hidden + unit, width);
    if constexpr (kCell == RecurrentCell::lstm) {
      copy_row(memory_at(step, row) + unit, cell_state_before(step, row) + unit, width);
    } else if constexpr (kCell == RecurrentCell::gru) {
      clear_row(memory_at(step, row) + unit, width);
    }
    if constexpr (gates > 1) {
      for (std::int64_t gate = 0; gate < gates; ++gate) {
        clear_row(gates_at(step, row) + gate * task.hidden + unit, width);
      }
    }
  }

  // All steps of `part`, each shared out by groups if the rows are not.
  void run_rows(const Part& part) const {
    const std::int64_t num_rows = part.row_end - part.row;
    const Scratch scratch(2 * num_rows * plan.pitch * static_cast<std::int64_t>(sizeof(T)));
    T* before = scratch.as<T>();
    T* after = before + num_rows * plan.pitch;
    for (std::int64_t row = 0; row < num_rows; ++row) {
      copy_row(before + row * plan.pitch,
               typed<T>(task.first_hidden) + (part.row + row) * task.hidden, task.hidden);
    }
    for (std::int64_t number = 0; number < task.num_steps; ++number) {
      const std::int64_t step = step_at(task, number);
      parallel_for(plan.num_groups, plan.grain, [&](std::int64_t begin, std::int64_t end) {
        run_step(step, {part.row, part.row_end, begin, end}, part.row, before, after);
      });
      T* const free = before;
      before = after;
      after = free;
    }
    for (std::int64_t row = 0; row < num_rows; ++row) {
      const std::int64_t place = (part.row + row) * task.hidden;
      copy_row(typed<T>(task.last_hidden) + place, before + row * plan.pitch, task.hidden);
      if constexpr (kCell == RecurrentCell::lstm) {
        const T* const cell = task.num_steps == 0
                                  ? typed<T>(task.first_cell) + place
                                  : memory_at(step_at(task, task.num_steps - 1), part.row + row);
        copy_row(typed<T>(task.last_cell) + place, cell, task.hidden);
      }
    }
  }
};

template <class T, RecurrentCell kCell>
void run_forward(const RecurrentForward& task) {
  constexpr std::int64_t gates = num_gates(kCell);
  const Plan<T> plan(task, task.hidden);
  const std::int64_t panels = plan.num_groups * gates * kPanelColumns<T> * task.hidden;
  const Scratch scratch(
      (panels + gates * task.hidden + kLanes<T>)*static_cast<std::int64_t>(sizeof(T)));
  const Forward<T, kCell> forward{task, plan, scratch.as<T>(), scratch.as<T>() + panels};
  forward.pack_weights();
  forward.add_biases();
  parallel_for(plan.num_row_blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      forward.run_rows(plan.rows_of(task, block));
    }
  });
}

// ---- backward -----------------------------------------------------------------------------------

template <class T, RecurrentCell kCell>
struct Backward {
  static constexpr std::int64_t gates = num_gates(kCell);
  const RecurrentBackward& task;
  Plan<T> plan;
  T* panels;  // of a group's columns of the weights

  std::int64_t depth() const { return gates * task.hidden; }
  std::int64_t panel_size() const { return depth() * kPanelColumns<T>; }

  void pack_weights() const {
    const T* const weight = typed<T>(task.weight);
    const std::int64_t hidden = task.hidden;
    const std::int64_t grain = 1 + (1 << 15) / (panel_size() + 1);
    parallel_for(plan.num_groups, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t group = begin; group < end; ++group) {
        const std::int64_t unit = group * kPanelColumns<T>;
        pack_panel<T>(weight + unit, 1, hidden, smaller(kPanelColumns<T>, hidden - unit), depth(),
                      panels + group * panel_size());
      }
    });
  }

  const T* before(std::int64_t step, std::int64_t row) const {
    if (is_first(task, step, row)) return typed<T>(task.first_hidden) + row * task.hidden;
    const std::int64_t earlier = task.reverse ? step + 1 : step - 1;
    return typed<T>(task.output) + (earlier * task.batch + row) * task.hidden;
  }

  // One group of one row that counts: the gradients of its gates, which go to `grads` as well, and
  // what of the state's gradient passes by the products.
  void differentiate(std::int64_t step, std::int64_t row, std::int64_t unit, std::int64_t width,
                     T* grads) const {
    const std::int64_t hidden = task.hidden;
    const std::int64_t place = (step * task.batch + row) * hidden + unit;
    const std::int64_t gate_place = (step * task.batch + row) * gates * hidden + unit;
    const T* const at = typed<T>(task.gates) + gate_place;
    const T* const by_output = typed<T>(task.grad_output) + place;
    T* const to = typed<T>(task.grad_gates) + gate_place;
    T* const by_hidden = typed<T>(task.grad_hidden) + row * hidden + unit;
    if constexpr (kCell == RecurrentCell::tanh || kCell == RecurrentCell::relu) {
      for_lanes<T>(width, [&](std::int64_t i, auto get, auto put) __attribute__((always_inline)) {
        const Vec<T> grad = get(by_output + i) + get(by_hidden + i);
        const Vec<T> y = get(at + i);
        Vec<T> result;
        if constexpr (kCell == RecurrentCell::tanh) {
          result = grad * (T(1) - y * y);
        } else {
          result = y > T(0) ? grad : Vec<T>{};
        }
        put(to + i, result);
        put(grads + i, result);
        put(by_hidden + i, Vec<T>{});
      });
    } else if constexpr (kCell == RecurrentCell::lstm) {
      const T* const cell = typed<T>(task.memory) + place;
      const T* const cell_before = cell_state_before(step, row) + unit;
      T* const by_cell = typed<T>(task.grad_cell) + row * hidden + unit;
      for_lanes<T>(width, [&](std::int64_t i, auto get, auto put) __attribute__((always_inline)) {
        const Vec<T> in = get(at + i), forget = get(at + hidden + i);
        const Vec<T> candidate = get(at + 2 * hidden + i), out = get(at + 3 * hidden + i);
        const Vec<T> grad = get(by_output + i) + get(by_hidden + i);
        const Vec<T> squashed = tanh(get(cell + i));
        const Vec<T> by_state = get(by_cell + i) + grad * out * (T(1) - squashed * squashed);
        const Vec<T> by_in = by_state * candidate * (in * (T(1) - in));
        const Vec<T> by_forget = by_state * get(cell_before + i) * (forget * (T(1) - forget));
        const Vec<T> by_candidate = by_state * in * (T(1) - candidate * candidate);
        const Vec<T> by_out = grad * squashed * (out * (T(1) - out));
        T* const copies[] = {to + i, grads + i};
        for (T* const rows : copies) {
          put(rows, by_in);
          put(rows + hidden, by_forget);
          put(rows + 2 * hidden, by_candidate);
          put(rows + 3 * hidden, by_out);
        }
        put(by_cell + i, by_state * forget);
        put(by_hidden + i, Vec<T>{});
      });
    } else {
      T* const to_hidden = typed<T>(task.grad_hidden_gates) + gate_place;
      const T* const scaled = typed<T>(task.memory) + place;
      const T* const state = before(step, row) + unit;
      for_lanes<T>(width, [&](std::int64_t i, auto get, auto put) __attribute__((always_inline)) {
        const Vec<T> reset = get(at + i), keep = get(at + hidden + i);
        const Vec<T> fresh = get(at + 2 * hidden + i);
        const Vec<T> grad = get(by_output + i) + get(by_hidden + i);
        const Vec<T> by_fresh = grad * (T(1) - keep) * (T(1) - fresh * fresh);
        const Vec<T> by_keep = grad * (get(state + i) - fresh) * (keep * (T(1) - keep));
        const Vec<T> by_reset = by_fresh * get(scaled + i) * (reset * (T(1) - reset));
        put(to + i, by_reset);
        put(to + hidden + i, by_keep);
        put(to + 2 * hidden + i, by_fresh);
        T* const copies[] = {to_hidden + i, grads + i};
        for (T* const rows : copies) {
          put(rows, by_reset);
          put(rows + hidden, by_keep);
          put(rows + 2 * hidden, by_fresh * reset);
        }
        put(by_hidden + i, grad * keep);
      });
    }
  }

  const T* cell_state_before(std::int64_t step, std::int64_t row) const {
    const std::int64_t earlier = task.reverse ? step + 1 : step - 1;
    if (earlier < 0 || earlier == task.num_steps) {
      return typed<T>(task.first_cell) + row * task.hidden;
    }
    return typed<T>(task.memory) + (earlier * task.batch + row) * task.hidden;
  }

  // A step that does not count passes the gradients of the state on.
  void skip(std::int64_t step, std::int64_t row, std::int64_t unit, std::int64_t width,
            T* grads) const {
    const std::int64_t place = (step * task.batch + row) * depth() + unit;
    for (std::int64_t gate = 0; gate < gates; ++gate) {
      clear_row(typed<T>(task.grad_gates) + place + gate * task.hidden, width);
      if constexpr (kCell == RecurrentCell::gru) {
        clear_row(typed<T>(task.grad_hidden_gates) + place + gate * task.hidden, width);
      }
      clear_row(grads + gate * task.hidden, width);
    }
  }

  // Adds what the gates of the step before, whose gradients are in `grads`, make of the state's.
  void add_product(const Part& part, std::int64_t first_row, const T* grads) const {
    for (std::int64_t group = part.group; group < part.group_end; ++group) {
      const std::int64_t unit = group * kPanelColumns<T>;
      const Panel<T> panel{panels + group * panel_size(), depth(),
                           smaller(kPanelColumns<T>, task.hidden - unit)};
      multiply_panel<T>(
          part.row_end - part.row, grads + (part.row - first_row) * plan.pitch, plan.pitch, panel,
          typed<T>(task.grad_hidden) + part.row * task.hidden + unit, task.hidden, false);
    }
  }

  void run_step(std::int64_t step, const Part& part, std::int64_t first_row, T* grads) const {
    for (std::int64_t row = part.row; row < part.row_end; ++row) {
      T* const row_grads = grads + (row - first_row) * plan.pitch;
      const bool has_effect = counts(task, step, row);
      for (std::int64_t group = part.group; group < part.group_end; ++group) {
        const std::int64_t unit = group * kPanelColumns<T>;
        const std::int64_t width = smaller(kPanelColumns<T>, task.hidden - unit);
        if (has_effect) {
          differentiate(step, row, unit, width, row_grads + unit);
        } else {
          skip(step, row, unit, width, row_grads + unit);
        }
      }
    }
  }

  // All steps of `part`. The product that follows a step is taken with the next one, so that a
  // group of units needs all the threads' results of one step only.
  void run_rows(const Part& part) const {
    const std::int64_t num_rows = part.row_end - part.row;
    const Scratch scratch(2 * num_rows * plan.pitch * static_cast<std::int64_t>(sizeof(T)));
    T* old = scratch.as<T>();
    T* fresh = old + num_rows * plan.pitch;
    bool multiplies = false;
    for (std::int64_t number = task.num_steps; number >= 0; --number) {
      const std::int64_t step = step_at(task, number - 1);
      parallel_for(plan.num_groups, plan.grain, [&](std::int64_t begin, std::int64_t end) {
        const Part piece{part.row, part.row_end, begin, end};
        if (multiplies) add_product(piece, part.row, old);
        if (number > 0) run_step(step, piece, part.row, fresh);
      });
      multiplies = number > 0 && any_counts(task, step, part);
      T* const free = old;
      old = fresh;
      fresh = free;
    }
  }
};

template <class T, RecurrentCell kCell>
void run_backward(const RecurrentBackward& task) {
  const Plan<T> plan(task, num_gates(kCell) * task.hidden);
  const std::int64_t panels =
      plan.num_groups * kPanelColumns<T> * num_gates(kCell) * task.hidden + kLanes<T>;
  const Scratch scratch(panels * static_cast<std::int64_t>(sizeof(T)));
  const Backward<T, kCell> backward{task, plan, scratch.as<T>()};
  backward.pack_weights();
  parallel_for(plan.num_row_blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      backward.run_rows(plan.rows_of(task, block));
    }
  });
}

// ---- the table ----------------------------------------------------------------------------------

template <class T>
void forward_of(const RecurrentForward& task) {
  switch (task.cell) {
    case RecurrentCell::tanh:
      return run_forward<T, RecurrentCell::tanh>(task);
    case RecurrentCell::relu:
      return run_forward<T, RecurrentCell::relu>(task);
    case RecurrentCell::lstm:
      return run_forward<T, RecurrentCell::lstm>(task);
    case RecurrentCell::gru:
      return run_forward<T, RecurrentCell::gru>(task);
  }
}

template <class T>
void backward_of(const RecurrentBackward& task) {
  switch (task.cell) {
    case RecurrentCell::tanh:
      return run_backward<T, RecurrentCell::tanh>(task);
    case RecurrentCell::relu:
      return run_backward<T, RecurrentCell::relu>(task);
    case RecurrentCell::lstm:
      return run_backward<T, RecurrentCell::lstm>(task);
    case RecurrentCell::gru:
      return run_backward<T, RecurrentCell::gru>(task);
  }
}

void forward(const RecurrentForward& task) {
  if (task.batch == 0 || task.hidden == 0) return;
  return task.dtype == DType::float64 ? forward_of<double>(task) : forward_of<float>(task);
}

void backward(const RecurrentBackward& task) {
  if (task.batch == 0 || task.hidden == 0) return;
  return task.dtype == DType::float64 ? backward_of<double>(task) : backward_of<float>(task);
}

}  // namespace

extern const RecurrentKernels recurrent_table;
const RecurrentKernels recurrent_table = {&forward, &backward};

}  // namespace lumus::LUMUS_ISA
