// Where a reduction gets its values: runs of an array, in place where they are what is accumulated,
// else packed into a tile in the level-1 cache.
#pragma once

#include <cstdint>

#include "kernels/accumulate.h"
#include "kernels/axes.h"
#include "kernels/reduce.h"
#include "kernels/tile_io.h"

namespace lumus::LUMUS_ISA {

constexpr std::int64_t kGrain = 32768;     // elements a thread takes at once
constexpr std::int64_t kPiece = 65536;     // elements of one piece of a long reduction
constexpr std::int64_t kTile = 1024;       // elements packed before they are reduced
constexpr std::int64_t kTileBytes = 8192;  // kTile of the widest type
constexpr std::int64_t kShortRow = LUMUS_VECTOR_BYTES == 64 ? 8 : 16;  // at most: scalar code
constexpr int kRows = 8;  // rows whose columns are combined at once

using FillTile = void (*)(const void* from, std::int64_t stride, std::int64_t count, void* tile);

template <class Element, class Tile>
void widen_tile(const void* from, std::int64_t stride, std::int64_t count, void* tile) {
  widen_run<Tile, Element>(static_cast<const Element*>(from), stride, count,
                           static_cast<Tile*>(tile));
}
template <class Tile>
constexpr FillTile kWideners[kNumDTypes] = {
    widen_tile<double, Tile>,       widen_tile<float, Tile>,        widen_tile<Float16, Tile>,
    widen_tile<BFloat16, Tile>,     widen_tile<std::int64_t, Tile>, widen_tile<std::int32_t, Tile>,
    widen_tile<std::int16_t, Tile>, widen_tile<std::int8_t, Tile>,  widen_tile<std::uint8_t, Tile>,
    widen_tile<Boolean, Tile>};

template <class Element>
void copy_tile(const void* from, std::int64_t stride, std::int64_t count, void* tile) {
  const auto* source = static_cast<const Element*>(from);
  auto* to = static_cast<Element*>(tile);
  for (std::int64_t i = 0; i < count; ++i) to[i] = source[i * stride];
}

// Computed values behind a linear index: position k in row-major order of the shape is element k.
struct ComputedSource {
  const ComputedValues* values;
  int rank = 0;
  std::int64_t shape[kMaxRank];
  std::int64_t strides[kMaxRank][kMaxComputedInputs];
  std::int64_t sizes[kMaxComputedInputs];
  std::int64_t value_size;
  FillTile convert;  // to what is accumulated; null if that is what is computed
  // Inputs whose elements do not lie as the values do: for short runs they are gathered first.
  int num_gathered;
  bool is_gathered[kMaxComputedInputs];

  void prepare(const ComputedValues& computed);
  void pack(std::int64_t offset, std::int64_t count, std::byte* tile,
            std::int64_t element_size) const;

 private:
  std::int64_t locate(std::int64_t offset, std::int64_t* coordinates) const;
  void gather(int input, std::int64_t offset, std::int64_t count, std::byte* to) const;
  void evaluate(const std::byte* const* from, const std::int64_t* steps, std::int64_t count,
                std::byte* tile) const;
};

constexpr std::int64_t kLongRun = 512;  // is evaluated as it is
constexpr int kMaxGathered = 4;

// Axes of length 1 are dropped, and neighbours merged where every input allows it.
inline void ComputedSource::prepare(const ComputedValues& computed) {
  values = &computed;
  value_size = itemsize(computed.dtype);
  const int num_inputs = computed.num_inputs;
  for (int input = 0; input < num_inputs; ++input) {
    sizes[input] = itemsize(computed.inputs[input].dtype);
  }
  for (int axis = 0; axis < computed.rank; ++axis) {
    const std::int64_t length = computed.shape[axis];
    if (length == 1) continue;
    bool joins = rank > 0;
    for (int input = 0; input < num_inputs && joins; ++input) {
      joins = strides[rank - 1][input] == computed.inputs[input].strides[axis] * length;
    }
    if (joins) {
      shape[rank - 1] *= length;
    } else {
      shape[rank++] = length;
    }
    for (int input = 0; input < num_inputs; ++input) {
      strides[rank - 1][input] = computed.inputs[input].strides[axis];
    }
  }
  if (rank == 0) {
    rank = 1;
    shape[0] = 1;
    for (int input = 0; input < num_inputs; ++input) strides[0][input] = 0;
  }
  num_gathered = 0;
  for (int input = 0; input < num_inputs; ++input) {
    const std::int64_t step = strides[rank - 1][input];
    bool is_even = step == 0 || step == 1;
    for (int axis = rank - 1; axis > 0 && is_even; --axis) {
      is_even = strides[axis - 1][input] == strides[axis][input] * shape[axis];
    }
    is_gathered[input] = !is_even;
    num_gathered += !is_even;
  }
}

// The coordinates of a value; returns how many follow in its run, itself included.
inline std::int64_t ComputedSource::locate(std::int64_t offset, std::int64_t* coordinates) const {
  for (int axis = rank - 1; axis > 0; --axis) {
    coordinates[axis] = offset % shape[axis];
    offset /= shape[axis];
  }
  coordinates[0] = offset;
  return shape[rank - 1] - coordinates[rank - 1];
}

// The elements of an input for `count` values in a row, dense.
inline void ComputedSource::gather(int input, std::int64_t offset, std::int64_t count,
                                   std::byte* to) const {
  const std::int64_t size = sizes[input];
  const std::int64_t step = strides[rank - 1][input];
  std::int64_t coordinates[kMaxRank];
  while (count > 0) {
    const std::int64_t now = smaller(locate(offset, coordinates), count);
    std::int64_t at = 0;
    for (int axis = 0; axis < rank; ++axis) at += coordinates[axis] * strides[axis][input];
    const std::byte* const from = values->inputs[input].data + at * size;
    if (step == 1) {
      std::memcpy(to, from, static_cast<std::size_t>(now * size));
    } else if (size == 4) {
      copy_tile<std::uint32_t>(from, step, now, to);
    } else if (size == 8) {
      copy_tile<std::uint64_t>(from, step, now, to);
    } else if (size == 2) {
      copy_tile<std::uint16_t>(from, step, now, to);
    } else {
      copy_tile<std::uint8_t>(from, step, now, to);
    }
    to += now * size;
    offset += now;
    count -= now;
  }
}

inline void ComputedSource::evaluate(const std::byte* const* from, const std::int64_t* steps,
                                     std::int64_t count, std::byte* tile) const {
  if (!convert) return values->evaluate(values->context, from, steps, count, tile);
  alignas(64) std::byte computed[kTileBytes];
  values->evaluate(values->context, from, steps, count, computed);
  convert(computed, 1, count, tile);
}

inline void ComputedSource::pack(std::int64_t offset, std::int64_t count, std::byte* tile,
                                 std::int64_t element_size) const {
  alignas(64) std::byte gathered[kMaxGathered * kTileBytes];
  const int num_inputs = values->num_inputs;
  const std::byte* from[kMaxComputedInputs];
  std::int64_t steps[kMaxComputedInputs];
  while (count > 0) {
    std::int64_t coordinates[kMaxRank];
    const std::int64_t run = locate(offset, coordinates);
    std::int64_t now = smaller(count, kTile);
    const bool is_gathering = run < smaller(now, kLongRun) && num_gathered <= kMaxGathered;
    if (!is_gathering) now = smaller(run, convert ? now : count);
    std::byte* room = gathered;
    for (int input = 0; input < num_inputs; ++input) {
      steps[input] = strides[rank - 1][input];
      if (is_gathering && is_gathered[input]) {
        gather(input, offset, now, room);
        from[input] = room;
        steps[input] = 1;
        room += kTileBytes;
        continue;
      }
      std::int64_t at = 0;
      for (int axis = 0; axis < rank; ++axis) at += coordinates[axis] * strides[axis][input];
      from[input] = values->inputs[input].data + at * sizes[input];
    }
    evaluate(from, steps, now, tile);
    tile += now * element_size;
    offset += now;
    count -= now;
  }
}

struct Source {
  const std::byte* data;
  std::int64_t stored_size;  // of an element of the array
  bool is_direct;            // elements are taken as they are: contiguous runs need no tile
  FillTile fill;
  const ComputedSource* computed;  // instead of an array, if not null
  std::int64_t element_size;       // of an element of a tile

  const std::byte* at(std::int64_t offset) const { return data + offset * stored_size; }

  // Whether it has the elements that are accumulated, without a conversion.
  bool gives_elements() const { return is_direct || (computed && !computed->convert); }

  // Copies `count` elements from element `offset` on to `tile`.
  void pack(std::int64_t offset, std::int64_t stride, std::int64_t count, void* tile) const {
    if (computed) {
      computed->pack(offset, count, static_cast<std::byte*>(tile), element_size);
    } else {
      fill(at(offset), stride, count, tile);
    }
  }

  // The same, or their place in the array if that will do.
  const void* values(std::int64_t offset, std::int64_t stride, std::int64_t count,
                     void* tile) const {
    if (is_direct && stride == 1) return at(offset);
    pack(offset, stride, count, tile);
    return tile;
  }
};

// First index of an extremum; see ReduceKernels.
void arg_reduce(bool is_max, const View& input, int axis, const View& output);

}  // namespace lumus::LUMUS_ISA
