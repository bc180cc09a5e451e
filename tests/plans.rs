//! Every shipped profile compiles, in every case.

mod common;

use common::pipeline::plans;

#[test]
fn every_shipped_profile_compiles() {
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/profiles")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        match plans(&path.display().to_string(), &text, &[]) {
            Ok(plans) => assert!(!plans.is_empty()),
            Err(problems) => panic!("{problems}"),
        }
    }
}
