//! Space and hints: truncating, allocating, advising, copying inside the kernel.

use super::row::*;
use super::table::family;
use crate::os::{Advice, Os, Space};
use crate::plan::instr::*;
use crate::profile::shape::{Field, Kind, Verb};
use crate::vm::claims::ClaimUnit;
use crate::vm::fault::Flow;
use crate::vm::random::Purpose;
use crate::vm::worker::Worker;

const HOW: Field = Field::new(
    "how",
    Kind::Choice(&["allocate", "keep_size", "punch", "zero"]),
    "allocate (default), keep_size, punch (a hole), zero",
);
const LAST: Field =
    Field::new("last", Kind::Size, "only the so many bytes that end where the last transfer ended");
const FROM: Field = Field::required("from", Kind::Set, "the set whose file in hand is copied from");

/// The words of `how:`.
pub fn space(word: &str) -> Option<Detail> {
    Some(Detail::Space(match word {
        "allocate" => Space::Allocate,
        "keep_size" => Space::KeepSize,
        "punch" => Space::Punch,
        "zero" => Space::Zero,
        _ => return None,
    }))
}

fn advice(word: &str) -> Option<Detail> {
    Some(Detail::Advice(match word {
        "normal" => Advice::Normal,
        "sequential" => Advice::Sequential,
        "random" => Advice::Random,
        "willneed" => Advice::WillNeed,
        "dontneed" => Advice::DontNeed,
        "noreuse" => Advice::NoReuse,
        _ => return None,
    }))
}

family! {
    {
        verb: Verb {
            name: "truncate",
            group: "data",
            doc: "Makes the file in hand exactly so many bytes long.",
            object: Some(Kind::Distribution),
            bare: false,
            args: &[IN],
        },
        object: Object::Value, counts: Counts::Operation, run: truncate, needs_open: true,
    },
    {
        verb: Verb {
            name: "fallocate",
            group: "data",
            doc: "Allocates, zeroes or punches so many bytes of the file in hand with fallocate(2), never by writing.",
            object: Some(Kind::Distribution),
            bare: false,
            args: &[IN, HOW, AT],
        },
        object: Object::Value, counts: Counts::Operation, run: fallocate, needs_open: true,
        detail: Detail::Space(Space::Allocate),
    },
    {
        verb: Verb {
            name: "advise",
            group: "data",
            doc: "Tells the kernel how the file in hand will be used (posix_fadvise over the whole file, or over `last` bytes).",
            object: Some(Kind::Choice(&["normal", "sequential", "random", "willneed", "dontneed", "noreuse"])),
            bare: false,
            args: &[IN, LAST],
        },
        object: Object::Word(advice), counts: Counts::Operation, run: advise, needs_open: true,
    },
    {
        verb: Verb {
            name: "copy_range",
            group: "data",
            doc: "Copies so many bytes from another set's file in hand inside the kernel (copy_file_range).",
            object: Some(Kind::Distribution),
            bare: false,
            args: &[IN, FROM],
        },
        object: Object::Value, counts: Counts::Data, run: copy_range, needs_open: true,
    },
}

fn truncate<O: Os>(worker: &mut Worker<O>, _: &Plan, args: &Args) -> Flow {
    let size = worker.draw(args.value, Purpose::Size, args.set);
    let fd = worker.hands[usize::from(args.set)].file.fd;
    let result = worker.os.truncate(fd, size);
    if result.is_ok() {
        worker.hands[usize::from(args.set)].file.size = size;
    }
    worker.settle(args, result, "ftruncate")
}

fn fallocate<O: Os>(worker: &mut Worker<O>, _: &Plan, args: &Args) -> Flow {
    let len = worker.draw(args.value, Purpose::Size, args.set);
    let Detail::Space(how) = args.detail else { return Flow::Next };
    let file = worker.hands[usize::from(args.set)].file;
    let at = match args.at {
        At::Next => file.cursor,
        At::End => file.size,
        At::Offset(draw) => worker.draw(draw, Purpose::Place, args.set),
        At::Random => worker.random.below(Purpose::Place, (file.size / len.max(1)).max(1)) * len,
        _ => 0,
    };
    let result = worker.os.allocate(file.fd, how, at, len);
    if result.is_ok() && how == Space::Allocate {
        let file = &mut worker.hands[usize::from(args.set)].file;
        file.size = file.size.max(at + len);
    }
    worker.settle(args, result, "fallocate")
}

fn advise<O: Os>(worker: &mut Worker<O>, _: &Plan, args: &Args) -> Flow {
    let Detail::Advice(advice) = args.detail else { return Flow::Next };
    let file = &worker.hands[usize::from(args.set)].file;
    let (fd, cursor) = (file.fd, file.cursor);
    // Length 0 is "to the end".
    let (at, len) = match args.limit {
        Some(last) => (cursor.saturating_sub(last), last.min(cursor)),
        None => (0, 0),
    };
    let result = worker.os.advise(fd, at, len, advice);
    worker.settle(args, result, "fadvise64")
}

fn copy_range<O: Os>(worker: &mut Worker<O>, _: &Plan, args: &Args) -> Flow {
    let len = worker.draw(args.value, Purpose::Size, args.set);
    if !worker.may_go_on(ClaimUnit::Transfers, len) {
        return Flow::Over;
    }
    let from = worker.hands[usize::from(args.other)].file;
    let to = worker.hands[usize::from(args.set)].file;
    let mut done = 0;
    while done < len {
        let n = (len - done) as usize;
        match worker.os.copy_range(from.fd, from.cursor + done, to.fd, to.cursor + done, n) {
            Ok(0) => break,
            Ok(n) => done += n as u64,
            Err(errno) if done == 0 => return worker.settle(args, Err(errno), "copy_file_range"),
            Err(errno) => {
                return worker.fail("copy_file_range", Some(to.cursor + done), Some(len), Some(errno), None);
            }
        }
    }
    worker.hands[usize::from(args.other)].file.cursor += done;
    let to = &mut worker.hands[usize::from(args.set)].file;
    to.cursor += done;
    to.size = to.size.max(to.cursor);
    to.positional = true;
    worker.hands[usize::from(args.other)].file.positional = true;
    worker.finish(args.stat, done, len);
    worker.held_to(args, "copy_file_range")
}
