//! JSON Schema validation behind one non-generic function.
