//! Every shipped profile compiles, in every case.

mod common;

use common::pipeline::plans;

#[test]
fn every_shipped_profile_compiles() {
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/profiles")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        // The one parameter that only a user can give.
        let load = [("loadfile", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/loads/small.txt"))];
        let sets = if text.contains("  loadfile: {type: file") { &load[..] } else { &[] };
        match plans(&path.display().to_string(), &text, sets) {
            Ok(plans) => assert!(!plans.is_empty()),
            Err(problems) => panic!("{problems}"),
        }
    }
}
