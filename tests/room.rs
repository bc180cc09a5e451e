//! What shipped suites and profiles need of a target is what they can really hold.

use ioscore::plan::instr::{Plan, Until};
use ioscore::plan::needs::{Needs, needs};
use ioscore::profile::embedded;
use ioscore::profile::expression::Facts;
use ioscore::profile::library::Library;
use ioscore::profile::suite::Request;
use ioscore::run::prepare::{self, Prepared};

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
