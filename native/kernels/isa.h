// Kernel sources are compiled once for each instruction set, each time inside namespace LUMUS_ISA
// (v2, v3, v4 on x86-64; base elsewhere). Two rules keep a binary safe on an older processor:
//   1. everything in a kernel source lives in namespace lumus::LUMUS_ISA (or is static / a lambda);
//   2. a kernel source includes no standard header with out-of-line templates (no <vector>,
//   <string>,
//      <algorithm>, ...): the linker keeps ONE copy of such a function, perhaps the AVX-512 one.
// <cstdint>, <cstddef>, <cstring> and compiler builtins are fine.
#pragma once

#ifndef LUMUS_ISA
#error "kernel sources are compiled through the LUMUS_ISA loop of CMakeLists.txt"
#endif
