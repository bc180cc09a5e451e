//! Extended attributes and record locks of the file in hand.

use super::row::*;
use super::table::family;
use crate::os::{Lock, Os};
use crate::plan::instr::*;
use crate::profile::shape::{Kind, Verb};
use crate::vm::fault::Flow;
use crate::vm::names;
use crate::vm::random::Purpose;
use crate::vm::worker::Worker;

/// Longest attribute value written.
const LONGEST_VALUE: u64 = 65536;

family! {
    {
        verb: Verb {
            name: "set_xattr",
            group: "attributes",
            doc: "Sets an extended attribute of the file in hand to `size` bytes.",
            object: Some(Kind::Text),
            bare: false,
            args: &[IN, SIZE],
        },
        object: Object::Name, counts: Counts::Operation, run: set_xattr, needs_open: true,
    },
    {
        verb: Verb {
            name: "get_xattr",
            group: "attributes",
            doc: "Reads an extended attribute of the file in hand.",
            object: Some(Kind::Text),
            bare: false,
            args: &[IN],
        },
        object: Object::Name, counts: Counts::Operation, run: get_xattr, needs_open: true,
    },
    {
        verb: Verb {
            name: "lock",
            group: "locks",
            doc: "Locks so many bytes of the file in hand for writing, waiting until they are free (fcntl F_SETLKW).",
            object: Some(Kind::Distribution),
            bare: false,
            args: &[IN, AT],
        },
        object: Object::Value, counts: Counts::Operation, run: lock, needs_open: true,
        detail: Detail::Lock(Lock::Write),
    },
    {
        verb: Verb {
            name: "unlock",
            group: "locks",
            doc: "Unlocks so many bytes of the file in hand.",
            object: Some(Kind::Distribution),
            bare: false,
            args: &[IN, AT],
        },
        object: Object::Value, counts: Counts::Operation, run: lock, needs_open: true,
        detail: Detail::Lock(Lock::Unlock),
    },
}

/// The attribute's name with its terminating zero.
fn attribute(plan: &Plan, args: &Args) -> Vec<u8> {
    let mut name = Vec::new();
    if let Some(segments) = plan.names.get(usize::from(args.name)) {
        names::render(segments, names::NameFacts::default(), &mut name);
    }
    name.push(0);
    name
}

fn set_xattr<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    let len = worker.draw(args.value, Purpose::Size, args.set).min(LONGEST_VALUE);
    let name = attribute(plan, args);
    let value = vec![b'x'; len as usize];
    let fd = worker.hands[usize::from(args.set)].file.fd;
    let result = worker.os.set_xattr(fd, Worker::<O>::path(&name), &value);
    worker.settle(args, result, "fsetxattr")
}

fn get_xattr<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    let name = attribute(plan, args);
    let fd = worker.hands[usize::from(args.set)].file.fd;
    let result = worker.os.get_xattr(fd, Worker::<O>::path(&name), LONGEST_VALUE as usize).map(|_| ());
    worker.settle(args, result, "fgetxattr")
}

fn lock<O: Os>(worker: &mut Worker<O>, _: &Plan, args: &Args) -> Flow {
    let len = worker.draw(args.value, Purpose::Size, args.set);
    let Detail::Lock(kind) = args.detail else { return Flow::Next };
    let at = match args.at {
        At::Offset(draw) => worker.draw(draw, Purpose::Place, args.set),
        At::Next => worker.hands[usize::from(args.set)].file.cursor,
        _ => 0,
    };
    let fd = worker.hands[usize::from(args.set)].file.fd;
    let result = worker.os.lock(fd, kind, at, len);
    worker.settle(args, result, "fcntl")
}
