//! Linux: system calls, the run directory, the clock. The only place with `unsafe`.
