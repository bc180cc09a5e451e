//! Small profiles run in full on the simulation or for real, and what they did.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use ioscore::os::linux::{Clock, Context, Linux};
use ioscore::os::sim::trace::{Detail, Event};
use ioscore::os::sim::{Options, SimFs, script::Op};
use ioscore::plan::instr::Plan;
use ioscore::vm::random::StreamKey;
use ioscore::vm::team::{NoWatcher, TeamOptions, TeamRun, run};

use super::pipeline::{plans, simulate, total};

/// What a case did.
pub struct Done {
    pub plan: Arc<Plan>,
    pub run: TeamRun,
    pub events: Vec<Event>,
    pub disk: Option<SimFs>,
}

/// A whole profile around workers, files and phases.
pub fn profile(body: &str) -> String {
    format!(
        "profile: t\nversion: 1.0.0\ntitle: T\nsummary: Tests.\nresults: [{{name: N, value: \"1\", better: higher}}]\n{body}"
    )
}

/// The plan of the only case, or the mistakes.
pub fn plan(body: &str) -> Result<Arc<Plan>, String> {
    plans("t.yaml", &profile(body), &[]).map(|cases| Arc::clone(&cases[0].1))
}

/// On the simulation, with every call remembered.
pub fn try_sim(body: &str, options: Options) -> Done {
    let plan = plan(body).unwrap_or_else(|problems| panic!("{problems}"));
    let (run, disk) = simulate(&plan, Options { trace: 1 << 20, ..options }, StreamKey::default());
    Done { plan, run, events: disk.trace(), disk: Some(disk) }
}

/// The same; nothing may go wrong.
pub fn sim(body: &str) -> Done {
    let done = try_sim(body, Options::default());
    assert_eq!(done.run.fault, None);
    done
}

/// In a directory of the real file system.
pub fn linux(body: &str) -> Done {
    let plan = plan(body).unwrap_or_else(|problems| panic!("{problems}"));
    let dir = tempfile::tempdir().unwrap();
    let root = OwnedFd::from(std::fs::File::open(dir.path()).unwrap());
    let context = Context::new(root, Arc::new(Clock::new()));
    let shared = Arc::new(ioscore::vm::shared::Shared::new(&plan));
    let options = TeamOptions { key: StreamKey::default(), epoch: 1_600_000_000, mark: false };
    let run = run(&plan, &shared, |_| Linux::new(&context), options, &NoWatcher);
    Done { plan, run, events: Vec::new(), disk: None }
}

impl Done {
    pub fn ops(&self, phase: &str, key: &str) -> u64 {
        total(&self.plan, &self.run, phase, key, |s| s.ops)
    }

    pub fn bytes(&self, phase: &str, key: &str) -> u64 {
        total(&self.plan, &self.run, phase, key, |s| s.bytes)
    }

    pub fn errors(&self, phase: &str, key: &str) -> u64 {
        total(&self.plan, &self.run, phase, key, |s| s.errors)
    }

    /// Message of what went wrong.
    pub fn fault(&self) -> String {
        self.run.fault.as_ref().map(|(_, f)| format!("{f:?}")).unwrap_or_default()
    }

    /// Calls of one kind, in each worker's order.
    pub fn calls(&self, op: Op) -> Vec<&Event> {
        self.events.iter().filter(|e| e.op == op).collect()
    }

    /// Names that calls of one kind were about.
    pub fn names(&self, op: Op) -> Vec<&str> {
        self.calls(op).into_iter().map(|e| e.name.as_str()).collect()
    }

    /// Offsets of the transfers of one kind; those at the file's own position have none.
    pub fn offsets(&self, op: Op) -> Vec<u64> {
        let offset = |e: &&Event| match e.detail {
            Detail::Range(offset, _) => offset,
            _ => None,
        };
        self.calls(op).iter().filter_map(offset).collect()
    }

    /// Opens of files (directories left out) after the layout.
    pub fn opens(&self) -> Vec<&str> {
        let plain = |e: &&&Event| match e.detail {
            Detail::Open { flags, .. } => flags & (libc::O_PATH | libc::O_DIRECTORY) == 0,
            _ => false,
        };
        self.calls(Op::Open).iter().filter(plain).map(|e| e.name.as_str()).collect()
    }
}
