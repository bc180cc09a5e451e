//! The shipped suites list what they say, in the order they say.

use ioscore::plan::instr::{Plan, Until};
use ioscore::plan::needs::{Needs, needs};
use ioscore::profile::embedded;
use ioscore::profile::expression::Facts;
use ioscore::profile::library::Library;
use ioscore::profile::suite::{Cache, Request, Runs};
use ioscore::run::prepare::{self, Prepared};

/// The published table, line by line: test, title, unit or name of the number, direction.
const PUBLISHED: &[(&str, &str, &str, &str)] = &[
    ("sqlite-insert", "Timed SQLite Insertions", "s", "lower"),
    ("fio", "Type: Random Read - BS: 2MB", "MiB/s", "higher"),
    ("fio", "Type: Random Read - BS: 4KB", "MiB/s", "higher"),
    ("fio", "Type: Random Read - BS: 4KB", "IOPS", "higher"),
    ("fio", "Type: Random Write - BS: 2MB", "MiB/s", "higher"),
    ("fio", "Type: Random Write - BS: 4KB", "MiB/s", "higher"),
    ("fio", "Type: Random Write - BS: 4KB", "IOPS", "higher"),
    ("fio", "Type: Sequential Read - BS: 2MB", "MiB/s", "higher"),
    ("fio", "Type: Sequential Read - BS: 4KB", "MiB/s", "higher"),
    ("fio", "Type: Sequential Read - BS: 4KB", "IOPS", "higher"),
    ("fio", "Type: Sequential Write - BS: 2MB", "MiB/s", "higher"),
    ("fio", "Type: Sequential Write - BS: 4KB", "MiB/s", "higher"),
    ("fio", "Type: Sequential Write - BS: 4KB", "IOPS", "higher"),
    ("fs-mark", "1000 Files, 1MB Size", "Files/s", "higher"),
    ("fs-mark", "5000 Files, 1MB Size, 4 Threads", "Files/s", "higher"),
    ("fs-mark", "4000 Files, 32 Sub Dirs, 1MB Size", "Files/s", "higher"),
    ("fs-mark", "1000 Files, 1MB Size, No Sync/FSync", "Files/s", "higher"),
    ("dbench-mix", "12 Clients", "MB/s", "higher"),
    ("dbench-mix", "1 Clients", "MB/s", "higher"),
    ("compilebench", "Test: Compile", "MiB/s", "higher"),
    ("compilebench", "Test: Initial Create", "MiB/s", "higher"),
    ("compilebench", "Test: Read Compiled Tree", "MiB/s", "higher"),
    ("postmark", "Disk Transaction Performance", "TPS", "higher"),
];

fn planned(suite: &str, presets: &[&str]) -> Vec<Prepared> {
    let facts =
        Facts { cpus: 4, memory: 8 << 30, free_space: 100 << 30, page_size: 4096, target_block: 4096 };
    let library = Library::new(ioscore::ops::verbs());
    let suite = library.suite_of(&[suite.to_string()]).expect("a shipped suite is sound");
    let request =
        Request { presets: presets.iter().map(|name| name.to_string()).collect(), ..Request::default() };
    let (planned, _) = suite.plan(&library, library.verbs(), &request, &facts).expect("it can be planned");
    prepare::prepare(planned).expect("it compiles")
}

/// The title of a published line as the profile writes it.
fn full(title: &str) -> String {
    title.replace(" - BS: ", " - IO Engine: Linux AIO - Buffered: No - Direct: Yes - Block Size: ")
        + if title.contains(" - BS: ") { " - Disk Target: Default Test Directory" } else { "" }
}

/// The lines of a suite that a published table has: the primary ones, and IOPS.
fn lines(cases: &[Prepared]) -> Vec<(String, String, String, String)> {
    let mut lines = Vec::new();
    for case in cases {
        for metric in case
            .specs
            .iter()
            .filter(|metric| metric.primary || metric.name == "IOPS" || metric.name.starts_with("Test: "))
        {
            let unit = match metric.unit.name() {
                "" => metric.name.clone(),
                unit => unit.to_string(),
            };
            let bound = &case.bound;
            // Several numbers of one case are lines of their own, by their names.
            let title = match metric.name.starts_with("Test: ") {
                true => metric.name.clone(),
                false => bound.title.split(" [").next().unwrap_or_default().to_string(),
            };
            lines.push((
                bound.profile_id.clone(),
                title,
                unit,
                format!("{:?}", metric.better).to_lowercase(),
            ));
        }
    }
    lines
}

#[test]
fn the_suite_has_the_published_lines_in_their_order() {
    let expected: Vec<_> = PUBLISHED
        .iter()
        .map(|line| (line.0.to_string(), full(line.1), line.2.to_string(), line.3.to_string()))
        .collect();
    assert_eq!(expected.len(), 23);
    for suite in ["nas-filesystems", "pts-disk-1.3"] {
        assert_eq!(lines(&planned(suite, &[])), expected, "{suite}");
        assert_eq!(lines(&planned(suite, &["quick"])), expected, "{suite}, quick");
    }
}

#[test]
fn the_presets_say_how_often_and_from_which_cache() {
    for (suite, _) in embedded::SUITES {
        assert!(planned(suite, &["quick"]).iter().all(|case| case.runs == Runs::exactly(1)), "{suite}");
        assert!(planned(suite, &["sound"]).iter().all(|case| case.cache == Cache::Drop), "{suite}");
    }
}

#[test]
fn every_shipped_profile_has_both_presets() {
    for (id, text) in embedded::PROFILES {
        assert!(text.contains("\n  quick: ") && text.contains("\n  sound: "), "{id}");
    }
}

/// Every case of a suite by its name, with its plan and what that needs.
fn needed(suite: &str, presets: &[&str]) -> Vec<(String, Plan, Needs)> {
    let of = |case: Prepared| {
        let name = format!("{suite} {presets:?} {}:{}", case.bound.profile_id, case.bound.case_id);
        let plan = case.plan.unwrap_or_else(|why| panic!("{name}: {why:?}"));
        let needs = needs(&plan);
        (name, Plan::clone(&plan), needs)
    };
    planned(suite, presets).into_iter().map(of).collect()
}

/// Files that grow for as long as the time lasts: how far, only the run can tell.
const GROWING: &[&str] = &["mail-server", "web-server"];

#[test]
fn a_target_of_ordinary_size_has_room_for_every_case() {
    let limits: [(&str, &[&str], u64); 4] = [
        ("nas-library", &[], 32 << 30),
        ("nas-library", &["quick"], 2 << 30),
        ("nas-filesystems", &["quick"], 2 << 30),
        ("slog", &["quick"], 2 << 30),
    ];
    for (suite, presets, limit) in limits {
        let all = needed(suite, presets);
        assert!(all.len() >= 10, "{suite}");
        for (name, plan, needs) in all {
            let grows = GROWING.iter().any(|profile| name.contains(&format!(" {profile}:")));
            let open = grows || !plan.sql.databases.is_empty();
            assert_eq!(needs.bytes.peak.is_none(), open, "{name}: {:?}", needs.bytes);
            let most = needs.bytes.peak.unwrap_or(0).max(needs.bytes.laid_out);
            assert!(most <= limit, "{name} needs {most} bytes of {limit}");
        }
    }
}

/// Every suite, and every profile that needs no file of its user's.
fn everything() -> impl Iterator<Item = &'static str> {
    let profiles = embedded::PROFILES.iter().map(|file| file.0).filter(|id| *id != "dbench");
    embedded::SUITES.iter().map(|file| file.0).chain(profiles)
}

#[test]
fn everything_is_small_under_quick() {
    assert!(everything().count() >= 20);
    for (name, _, needs) in everything().flat_map(|id| needed(id, &["quick"])) {
        let most = needs.bytes.peak.unwrap_or(0).max(needs.bytes.laid_out);
        assert!(most <= 2 << 30, "{name} needs {most} bytes");
    }
}

#[test]
fn no_case_asks_for_many_times_what_it_holds() {
    for suite in everything() {
        for presets in [&[][..], &["quick"], &["sound"]] {
            for (name, _, needs) in needed(suite, presets) {
                let (peak, laid_out) = (needs.bytes.peak.unwrap_or(0), needs.bytes.laid_out);
                // What is there at the start, what is written, and some room for chance.
                let expected = 3 * (laid_out + needs.written.unwrap_or(0)) + (1 << 30);
                assert!(peak <= expected, "{name}: {:?}, writes {:?}", needs.bytes, needs.written);
            }
        }
    }
}

#[test]
fn what_is_written_is_known_where_no_time_decides_it() {
    let mut known = 0;
    for suite in everything() {
        for (name, plan, needs) in needed(suite, &[]) {
            let timed = plan.loops.iter().any(|lp| matches!(lp.until, Until::Time(_) | Until::Steady { .. }));
            let open = timed || !plan.sql.databases.is_empty();
            assert!(open || needs.written.is_some(), "{name}");
            known += u32::from(needs.written.is_some());
        }
    }
    assert!(known >= 15, "{known}");
}
