//! One suite of meanings, held against every machine.
