//! What each construct of the language means, seen in what it makes the machine do.

mod common;

#[path = "language/at.rs"]
mod at;
#[path = "language/flow.rs"]
mod flow;
#[path = "language/guide.rs"]
mod guide;
#[path = "language/limits.rs"]
mod limits;
#[path = "language/loops.rs"]
mod loops;
#[path = "language/rates.rs"]
mod rates;
#[path = "language/sets.rs"]
mod sets;
#[path = "language/verbs.rs"]
mod verbs;
