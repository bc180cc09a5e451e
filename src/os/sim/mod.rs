//! The simulation: a file system in memory, a virtual clock, scripted faults.
