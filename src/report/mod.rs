//! Reports: one file a format over stored records. None of them knows how a record came about.

pub mod csv;
mod csv_columns;
pub mod format;
pub mod json;
pub mod pair;
pub mod side_by_side;
pub mod terminal;
