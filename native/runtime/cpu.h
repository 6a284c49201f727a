// What the processor offers and the environment asks for: instruction set and number of threads.
#pragma once

#include <string>

namespace lumus {

// In the order of the kernel tables: on x86-64 {v2, v3, v4}, elsewhere {base}.
int num_isas();
const char* isa_name(int isa);
bool isa_available(int isa);

// Index of the instruction set in use. A plain global: it is written once, when the module loads.
extern int active_isa;

// Picks the best available one, or the one that LUMUS_ISA names. False, and a sentence in
// `*problem`, when LUMUS_ISA names one that does not exist or that this processor lacks.
bool choose_isa(std::string* problem);

// Sets the number of threads to LUMUS_NUM_THREADS, or else to the number of processors that this
// process may run on. False, and a sentence in `*problem`, when the variable is not a count.
bool choose_num_threads(std::string* problem);

}  // namespace lumus
