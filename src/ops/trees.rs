//! Trees of directories as a whole: written from a list of files, read, looked at, removed. One tree
//! is one operation; its calls are those of a program that walks directories.

use super::row::*;
use super::table::family;
use crate::os::Os;
use crate::plan::instr::*;
use crate::profile::shape::{Field, Kind, Verb};
use crate::vm::fault::Flow;
use crate::vm::worker::Worker;

const STATE: Field = Field::new(
    "state",
    Kind::OneOf(&[Kind::Text, Kind::ListOf(&Kind::Text)]),
    "only trees in this state, or in one of these, each state as likely as the others",
);
const BECOMES: Field = Field::new("becomes", Kind::Text, "the state the tree is in then");

family! {
    {
        verb: Verb {
            name: "write_tree",
            group: "trees",
            doc: "Writes the files of a list into a tree: a new one, or with `pick` or `state` one that is there.",
            object: Some(Kind::Set),
            bare: false,
            args: &[
                Field::required("files", Kind::Text, "the list of files"),
                PICK,
                STATE,
                BECOMES,
                Field::new("existing", Kind::Choice(&["truncate", "unlink"]), "files that are there already: read and emptied (default), or removed first"),
                DATA,
            ],
        },
        object: Object::Set, counts: Counts::Data, run: write_tree,
    },
    {
        verb: Verb {
            name: "read_tree",
            group: "trees",
            doc: "Walks through a tree and reads every file of it, in the order in which the file system lists them.",
            object: Some(Kind::Set),
            bare: true,
            args: &[PICK, STATE, Field::new("past_end", Kind::Count, "reads after the end of each file, which bring nothing")],
        },
        object: Object::Set, counts: Counts::Data, run: read_tree,
    },
    {
        verb: Verb {
            name: "stat_tree",
            group: "trees",
            doc: "Walks through a tree, asks for the status of every file and directory, and reads nothing else.",
            object: Some(Kind::Set),
            bare: true,
            args: &[PICK, STATE],
        },
        object: Object::Set, counts: Counts::Operation, run: stat_tree,
    },
    {
        verb: Verb {
            name: "remove_tree",
            group: "trees",
            doc: "Removes a tree, or with `files` the files of a list from it.",
            object: Some(Kind::Set),
            bare: true,
            args: &[
                PICK,
                STATE,
                BECOMES,
                Field::new("files", Kind::Text, "only the files of this list"),
                Field::new("keep_top", Kind::Bool, "the directory of the tree itself stays"),
            ],
        },
        object: Object::Set, counts: Counts::Operation, run: remove_tree,
    },
}

/// Takes a tree in hand, does something with it, and counts it as one operation with its bytes.
fn whole<O: Os>(
    worker: &mut Worker<O>,
    plan: &Plan,
    args: &Args,
    f: impl FnOnce(&mut Worker<O>, &Plan, &Args, TreeStep) -> Result<u64, Flow>,
) -> Flow {
    let Detail::Tree(step) = args.detail else { return Flow::Next };
    let new = step.dataset != NO_DATASET && args.moves == Moves::Writes && !step.chosen;
    if let Err(flow) = worker.take_tree(args, step, new) {
        return flow;
    }
    let start = worker.now;
    match f(worker, plan, args, step) {
        Ok(bytes) => {
            worker.finish(args.stat, bytes, bytes);
            worker.rate_whole(args.stat, start, bytes);
            worker.tree_becomes(args.set, step);
            Flow::Next
        }
        Err(flow) => flow,
    }
}

fn write_tree<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    whole(worker, plan, args, |worker, plan, args, step| worker.write_tree(plan, args, step))
}

fn read_tree<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    whole(worker, plan, args, |worker, plan, args, step| worker.read_tree(plan, args, step))
}

fn stat_tree<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    whole(worker, plan, args, |worker, _, args, _| worker.stat_tree(args))
}

fn remove_tree<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    let Detail::Tree(step) = args.detail else { return Flow::Next };
    let flow = whole(worker, plan, args, |worker, plan, args, step| worker.remove_tree(plan, args, step));
    if flow == Flow::Next && step.dataset == NO_DATASET {
        worker.forget_member(args.set);
    }
    flow
}
