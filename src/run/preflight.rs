//! What a plan needs against what a target has, before the first byte is written there.

use super::prepare::Prepared;
use super::target::Place;
use crate::record::{NoResult, Reason};

/// Why a case is not run on this target; nothing where it can be. By position of the case.
pub fn check(
    cases: &[Prepared],
    _place: &Place,
    _descriptors: u64,
    _keep: bool,
    _allow: &[String],
) -> Vec<Option<(NoResult, Reason)>> {
    cases.iter().map(|_| None).collect()
}

/// What all cases need, in words behind their number.
pub fn described(_cases: &[Prepared], _free: Option<u64>) -> String {
    String::new()
}
