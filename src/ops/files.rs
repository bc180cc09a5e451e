//! Opening and closing files.

use super::row::*;
use super::table::family;
use crate::os::{Errno, Fd, Os, Whence};
use crate::plan::instr::*;
use crate::profile::shape::{Field, Kind, Verb};
use crate::vm::fault::Flow;
use crate::vm::hand::CLOSED;
use crate::vm::worker::Worker;

const RELATIVE: Field =
    Field::new("relative", Kind::Bool, "counted from where the file is (SEEK_CUR), not from its start");

family! {
    {
        verb: Verb {
            name: "create",
            group: "open files",
            doc: "Creates a new member of a set and opens it. Truncates unless `flags` are given.",
            object: Some(Kind::Set),
            bare: false,
            args: &[MODE, FLAGS, PERMISSIONS, PARENTS, BUFFER],
        },
        object: Object::Set, counts: Counts::Operation, run: create, opens: true,
    },
    {
        verb: Verb {
            name: "open",
            group: "open files",
            doc: "Opens a member of a set, or with `name` a file that is no member.",
            object: Some(Kind::Set),
            bare: false,
            args: &[PICK, MODE, FLAGS, BUFFER, NAME],
        },
        object: Object::Set, counts: Counts::Operation, run: open, opens: true,
    },
    {
        verb: Verb {
            name: "close",
            group: "open files",
            doc: "Closes the file in hand; with buffered transfers what is left is written first.",
            object: Some(Kind::Set),
            bare: true,
            args: &[IN],
        },
        object: Object::Set, counts: Counts::Operation, run: close, needs_open: true,
    },
    {
        verb: Verb {
            name: "seek",
            group: "open files",
            doc: "Sets where `at: next` goes on in the file in hand.",
            object: Some(Kind::Distribution),
            bare: false,
            args: &[IN, RELATIVE],
        },
        object: Object::Value, counts: Counts::Operation, run: seek, needs_open: true,
    },
}

/// Remembers in the hand how the file was opened.
fn opened<O: Os>(worker: &mut Worker<O>, args: &Args, fd: Fd) {
    let file = &mut worker.hands[usize::from(args.set)].file;
    let flags = args.opening.flags;
    file.fd = fd;
    file.cursor = 0;
    file.ways = [0; 2];
    file.positional = false;
    file.append = flags & libc::O_APPEND != 0;
    file.stdio = args.opening.stdio;
    (file.stdio_block, file.stdio_pending, file.stdio_ready) = (0, 0, 0);
    if flags & libc::O_TRUNC != 0 {
        file.size = 0;
    }
}

fn create<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    let set = &plan.sets[usize::from(args.set)];
    if worker.new_member(args.set, 0).is_none() {
        return worker.guarded(set.full, "create", "the set is full");
    }
    if args.opening.parents != Parents::Ahead {
        make_parent(worker, args, set);
    }
    let dir = worker.member_path(args.set);
    let (flags, mode) = (args.opening.flags, args.opening.permissions);
    let result = worker.open_path(dir, flags, mode, args.opening.prefer_direct);
    match result {
        Ok(fd) => {
            opened(worker, args, fd);
            worker.settle(args, Ok(()), "open")
        }
        Err(errno) => {
            worker.forget_member(args.set);
            worker.settle(args, Err(errno), "open")
        }
    }
}

/// Makes the directory of the member in hand; that it is there already is what is expected.
fn make_parent<O: Os>(worker: &mut Worker<O>, args: &Args, set: &SetPlan) {
    let dir = worker.hands[usize::from(args.set)].file.member.dir;
    if args.opening.parents == Parents::Missing {
        let dirs = &mut worker.dirs[usize::from(args.set)];
        // Without subdirectories the set's own one stands for the first.
        if dirs.seen.len() <= dir as usize {
            dirs.seen.resize(dir as usize + 1, false);
        }
        if std::mem::replace(&mut dirs.seen[dir as usize], true) {
            return;
        }
    }
    let base = worker.path_in(args.set, dir, None);
    // An error shows at the open that follows.
    let _ = worker.with_path(|os, path| os.mkdir(base, path, set.dir_permissions));
}

fn open<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    let set = &plan.sets[usize::from(args.set)];
    let flags = args.opening.flags;
    if plan.sql.databases.contains(&args.set) {
        return super::sql::open(worker, plan, args);
    }
    if args.name != NO_NAME {
        let dir = worker.free_path(args.set, args.name);
        let result = worker.with_path(|os, path| os.open(dir, path, flags, args.opening.permissions));
        let result = result.map(|fd| {
            // It is no member: nothing else can be done with it.
            let _ = worker.os.close(fd);
        });
        return worker.settle(args, result, "open");
    }
    if set.memory {
        let file = &mut worker.hands[usize::from(args.set)].file;
        file.cursor = 0;
        file.ways = [0; 2];
        return Flow::Next;
    }
    if worker.pick(args.set, args.pick).is_none() {
        return worker.guarded(set.empty, "open", "the set has no file to open");
    }
    let appends = flags & libc::O_APPEND != 0;
    if appends && worker.file_facts(args.set).room == 0 {
        return worker.guarded(set.no_room, "open", "the file has no room to grow");
    }
    if worker.hands[usize::from(args.set)].file.is_open() {
        let fd = worker.hands[usize::from(args.set)].file.fd;
        worker.hands[usize::from(args.set)].file.fd = CLOSED;
        let _ = worker.os.close(fd);
    }
    let dir = worker.member_path(args.set);
    let Opening { permissions, prefer_direct, .. } = args.opening;
    let result = worker.open_path(dir, flags, permissions, prefer_direct);
    match result {
        Ok(fd) => {
            opened(worker, args, fd);
            worker.settle(args, Ok(()), "open")
        }
        Err(errno) => worker.settle(args, Err(errno), "open"),
    }
}

fn close<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    if plan.sets[usize::from(args.set)].memory {
        return Flow::Next;
    }
    if plan.sql.databases.contains(&args.set) {
        return super::sql::close(worker, args);
    }
    if let Err(errno) = worker.flush_buffered(args.set) {
        return worker.settle(args, Err(errno), "write");
    }
    let hand = &mut worker.hands[usize::from(args.set)];
    if !hand.kept.is_empty() {
        return worker.fail("close", None, None, None, Some("the set keeps its files open".into()));
    }
    if !hand.file.is_open() {
        return worker.settle(args, Err(Errno(libc::EBADF)), "close");
    }
    let fd = hand.file.fd;
    hand.file.fd = CLOSED;
    worker.store_size(args.set);
    let result = worker.os.close(fd);
    worker.settle(args, result, "close")
}

fn seek<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    let to = worker.draw(args.value, crate::vm::random::Purpose::Place, args.set);
    let file = &mut worker.hands[usize::from(args.set)].file;
    let (fd, relative) = (file.fd, args.detail == Detail::Relative);
    if plan.sets[usize::from(args.set)].memory {
        file.cursor = if relative { file.cursor + to } else { to };
        return worker.settle(args, Ok(()), "lseek");
    }
    let result = match relative && !file.positional {
        true => worker.os.seek(fd, to as i64, Whence::Current),
        // Transfers that name their offset leave the file's own position behind.
        false if relative => worker.os.seek(fd, (file.cursor + to) as i64, Whence::Start),
        false => worker.os.seek(fd, to as i64, Whence::Start),
    };
    if let Ok(at) = result {
        worker.hands[usize::from(args.set)].file.cursor = at;
    }
    worker.settle(args, result.map(|_| ()), "lseek")
}
