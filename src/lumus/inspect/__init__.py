"""Looking at graphs, memory and models. Reads only; changes nothing."""
