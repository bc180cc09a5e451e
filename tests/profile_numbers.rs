//! Every number that a shipped profile promises comes out of a run, on the simulated machine.

use std::sync::Arc;

use ioscore::os::sim::{Options, SimFs};
use ioscore::profile::embedded;
use ioscore::profile::expression::Facts;
use ioscore::profile::library::Library;
use ioscore::profile::results;
use ioscore::profile::suite::Request;
use ioscore::run::{numbers, prepare};
use ioscore::vm::random::StreamKey;
use ioscore::vm::shared::Shared;
use ioscore::vm::team::{self, NoWatcher, TeamOptions};

/// More transfers than this take too long for a test.
const MOST: u64 = 300_000;

#[test]
fn every_promised_number_comes_out_of_a_run() {
    let facts = Facts { cpus: 2, memory: 1 << 30, free_space: 1 << 40, page_size: 4096, target_block: 4096 };
    let mut ran = 0;
    for (id, _) in embedded::PROFILES {
        let library = Library::new(ioscore::ops::verbs());
        let suite = library.suite_of(&[id.to_string()]).expect("a shipped profile is sound");
        let presets = library.open(id).ok().map(|(found, _)| match found {
            ioscore::profile::library::Found::Profile(profile) => profile.preset("quick").is_some(),
            _ => false,
        });
        let quick = presets.unwrap_or(false).then(|| "quick".to_string());
        // The one parameter that only a user can give.
        let load = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/loads/small.txt").to_string();
        let sets = if *id == "dbench" { vec![("loadfile".to_string(), load)] } else { Vec::new() };
        let request = Request { presets: quick.into_iter().collect(), sets, ..Request::default() };
        let (planned, _) =
            suite.plan(&library, library.verbs(), &request, &facts).expect("it can be planned");
        for case in prepare::prepare(planned).expect("it compiles") {
            let Ok(plan) = &case.plan else { continue };
            let needs = ioscore::plan::needs::needs(plan);
            if needs.written.is_none_or(|bytes| bytes / plan.largest_block.max(1) > MOST) {
                continue;
            }
            let name = format!("{id}:{}", case.bound.case_id);
            let machine = SimFs::new(Options { names: plan.reads_names(), ..Options::default() });
            let shared = Arc::new(Shared::new(plan));
            let options =
                TeamOptions { key: StreamKey { seed: 1, ..StreamKey::default() }, epoch: 0, mark: false };
            let run = team::run(plan, &shared, |worker| machine.worker(worker), options, &NoWatcher);
            assert!(run.fault.is_none(), "{name}: {:?}", run.fault);
            let all = numbers::numbers(plan, &run, 0);
            let known = numbers::known(plan);
            for number in all.keys() {
                assert!(known.contains(number), "{name}: {number} is not announced");
            }
            for metric in results::evaluate(&case.specs, &all, &case.bound.scope) {
                assert!(metric.value.is_some_and(f64::is_finite), "{name}: {} has no value", metric.name);
            }
            assert!(!numbers::steps(plan, &run).is_empty(), "{name} has no steps");
            ran += 1;
        }
    }
    assert!(ran >= 5, "only {ran} cases were small enough");
}
