// Snapshots of Python values: what a compiled function looks at before each call to know that
// nothing around it has changed. Objects are compared by identity alone: whoever finds that a place
// has another one looks closer, in Python.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "bind/tensor.h"

namespace lumus {

namespace nb = nanobind;

enum class PlaceKind : std::uint8_t {
  slot,
  instance,
  of_class,
  item,
  cell,
  items,
  code,
  defaults,
  keyword_defaults,
  ancestry,
  size,
  agreement
};

// Where an object stands, and which one stood there. Of an agreement the owner is a list of dicts,
// which have equal values under the name.
struct Place {
  PlaceKind kind;
  nb::object owner;
  nb::object name = {};   // of an attribute or item
  ObjectSlot slot = {};   // of an attribute that is one
  Py_ssize_t limit = 0;   // of items: of more, only the number is watched
  nb::object value = {};  // null where there was nothing
};

class Snapshot {
 public:
  void add_attribute(nb::object owner, nb::str name);
  void add_item(nb::dict owner, nb::object key);
  void add_cell(nb::object cell);
  void add_code(nb::object function);
  // The class of an object and what it inherits from; of a class those of itself.
  void add_ancestry(nb::object owner);
  // How many attributes an object or class has of its own.
  void add_size(nb::object owner);
  void add_defaults(nb::object function, bool by_keyword);
  void add_items(nb::object container, Py_ssize_t limit);
  void add_agreement(nb::list dicts, nb::str key);

  // Whether the same objects stand in all places. Sets no error.
  bool holds() const;

  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  void add(Place place);

  std::vector<Place> places_;
  bool is_readable_ = true;  // all of them
};

// Whether dicts have equal values under a key; raises for one that has none.
bool agree(nb::list dicts, nb::str key);

}  // namespace lumus
