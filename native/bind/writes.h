// What a compiled function writes at each call: said to the storages when it has run, and kept
// apart from its arguments before.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <vector>

#include "runtime/array.h"

namespace lumus {

namespace nb = nanobind;

class Writes {
 public:
  using Arguments = std::vector<const Array*>;

  // (array, op, call site) of arrays that are the same at each call, (place, op, call site) of
  // arguments, and arrays from outside that are read only.
  Writes(nb::list arrays, nb::list arguments, nb::list read);

  // Whether an argument shares elements with what is written as another one or outside, or is
  // written and shares some with what is read outside.
  bool meet(const Arguments& arguments) const;
  void note(const Arguments& arguments) const;

 private:
  struct Write {
    const Array* array;
    std::size_t place;
    nb::object op, site;
  };

  void check(const Arguments& arguments) const;
  bool meets_written(const Arguments& arguments, std::size_t place) const;
  static void note_one(const Array& array, const Write& write);

  std::vector<nb::object> kept_;
  std::vector<Write> arrays_, arguments_;
  std::vector<const Array*> read_;        // where arguments are written
  std::vector<const Storage*> storages_;  // of the arrays, in order
};

}  // namespace lumus
