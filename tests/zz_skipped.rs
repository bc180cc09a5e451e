//! The last words of a test run: how many tests were skipped, and why. Test binaries run in the
//! order of their names.

mod common;

fn main() {
    let list = common::tools::skip_list();
    let skipped = std::fs::read_to_string(&list).unwrap_or_default();
    // One reason a test, however often it was tried.
    let lines: std::collections::BTreeSet<&str> = skipped.lines().collect();
    for line in &lines {
        println!("skipped: {line}");
    }
    println!(
        "{} tests were skipped{}",
        lines.len(),
        if lines.is_empty() { "" } else { ", for the reasons above" }
    );
    if std::env::var_os("IOSCORE_SKIPS").is_none() {
        // The next run starts with an empty list.
        let _ = std::fs::remove_file(&list);
    }
}
