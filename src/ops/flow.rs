//! Waiting: for a time, for the other workers, for what is in flight.

use super::row::*;
use super::table::family;
use crate::os::Os;
use crate::plan::instr::*;
use crate::profile::shape::{Kind, Verb};
use crate::vm::fault::Flow;
use crate::vm::random::Purpose;
use crate::vm::worker::Worker;

family! {
    {
        verb: Verb {
            name: "think",
            group: "flow",
            doc: "Does nothing for a while. The time is nobody's latency.",
            object: Some(Kind::OneOf(&[Kind::Duration, Kind::Distribution])),
            bare: false,
            args: &[],
        },
        object: Object::Pause, counts: Counts::Nothing, run: think,
    },
    {
        verb: Verb {
            name: "barrier",
            group: "flow",
            doc: "Waits until every worker whose steps hold this barrier has come to it.",
            object: None,
            bare: true,
            args: &[],
        },
        object: Object::None, counts: Counts::Nothing, run: barrier,
    },
    {
        verb: Verb {
            name: "drain",
            group: "flow",
            doc: "Waits until nothing of this worker is in flight.",
            object: None,
            bare: true,
            args: &[],
        },
        object: Object::None, counts: Counts::Nothing, run: drain,
    },
}

fn think<O: Os>(worker: &mut Worker<O>, _: &Plan, args: &Args) -> Flow {
    let span = worker.draw(args.value, Purpose::Pace, args.set);
    let until = worker.now.saturating_add(span);
    worker.pause_until(until);
    Flow::Next
}

fn barrier<O: Os>(worker: &mut Worker<O>, _: &Plan, args: &Args) -> Flow {
    if let Detail::Barrier(id) = args.detail
        && let Some(gate) = worker.shared.clone().barriers.get(usize::from(id))
    {
        worker.wait_for_others();
        gate.meet(|| {});
    }
    worker.restart_clock();
    Flow::Next
}

fn drain<O: Os>(worker: &mut Worker<O>, _: &Plan, _: &Args) -> Flow {
    worker.drain()
}
