//! Names and metadata: what happens to directories and their entries.

use std::ffi::CStr;

use super::row::*;
use super::table::family;
use crate::os::{Call, Errno, Fd, Os};
use crate::plan::instr::*;
use crate::profile::shape::{Field, Kind, Verb};
use crate::vm::claims::ClaimUnit;
use crate::vm::fault::Flow;
use crate::vm::worker::Worker;

const ORDER: Field = Field::new(
    "order",
    Kind::Choice(&["oldest", "newest", "slot", "random"]),
    "in which order: oldest first (default), newest first, by slot, random",
);
const SUBDIRS: Field = Field::new(
    "subdirs",
    Kind::Bool,
    "every subdirectory of the set, one after the other, instead of its own directory",
);
const LIMIT: Field = Field::new("limit", Kind::Count, "at most so many");

/// The words of `order:`.
pub fn order(word: &str) -> Option<Detail> {
    Some(Detail::Order(match word {
        "oldest" => Order::Oldest,
        "newest" => Order::Newest,
        "slot" => Order::Slot,
        "random" => Order::Random,
        _ => return None,
    }))
}

family! {
    {
        verb: Verb {
            name: "unlink",
            group: "names",
            doc: "Deletes a member of a set.",
            object: Some(Kind::Set),
            bare: true,
            args: &[PICK, NAME],
        },
        object: Object::Set, counts: Counts::Operation, run: unlink,
    },
    {
        verb: Verb {
            name: "rename",
            group: "names",
            doc: "Gives a member of a set its next running number, and with it a new name.",
            object: Some(Kind::Set),
            bare: true,
            args: &[PICK],
        },
        object: Object::Set, counts: Counts::Operation, run: rename,
    },
    {
        verb: Verb {
            name: "replace",
            group: "names",
            doc: "Renames the file in hand over another member of its set, which is gone then: how programs save a file safely.",
            object: Some(Kind::Set),
            bare: true,
            args: &[PICK],
        },
        object: Object::Set, counts: Counts::Operation, run: replace,
    },
    {
        verb: Verb {
            name: "link",
            group: "names",
            doc: "Gives a member of a set a second name, which is a member of its own from then on.",
            object: Some(Kind::Set),
            bare: true,
            args: &[PICK],
        },
        object: Object::Set, counts: Counts::Operation, run: link,
    },
    {
        verb: Verb {
            name: "symlink",
            group: "names",
            doc: "Makes a symbolic link to a member of a set, under a name that is no member.",
            object: Some(Kind::Set),
            bare: false,
            args: &[PICK, NAME],
        },
        object: Object::Set, counts: Counts::Operation, run: symlink,
    },
    {
        verb: Verb {
            name: "readlink",
            group: "names",
            doc: "Reads a symbolic link in the set's directory.",
            object: Some(Kind::Set),
            bare: false,
            args: &[NAME],
        },
        object: Object::Set, counts: Counts::Operation, run: readlink,
    },
    {
        verb: Verb {
            name: "mkdir",
            group: "names",
            doc: "Makes the set's directory, or with `name` a directory in it.",
            object: Some(Kind::Set),
            bare: false,
            args: &[NAME, PERMISSIONS, SUBDIRS],
        },
        object: Object::Set, counts: Counts::Operation, run: mkdir,
    },
    {
        verb: Verb {
            name: "rmdir",
            group: "names",
            doc: "Removes the set's directory, or with `name` a directory in it.",
            object: Some(Kind::Set),
            bare: false,
            args: &[NAME, SUBDIRS],
        },
        object: Object::Set, counts: Counts::Operation, run: rmdir,
    },
    {
        verb: Verb {
            name: "list",
            group: "names",
            doc: "Reads the directory of the file last named: opens it, reads all entries, closes it.",
            object: Some(Kind::Set),
            bare: true,
            args: &[],
        },
        object: Object::Set, counts: Counts::Operation, run: list,
    },
    {
        verb: Verb {
            name: "stat",
            group: "names",
            doc: "Looks a member up by name (and takes it in hand); without a set, asks the open file.",
            object: Some(Kind::Set),
            bare: true,
            args: &[PICK, NAME, IN],
        },
        object: Object::Set, counts: Counts::Operation, run: stat,
    },
    {
        verb: Verb {
            name: "statfs",
            group: "names",
            doc: "Asks the target's file system for its free space.",
            object: None,
            bare: true,
            args: &[],
        },
        object: Object::None, counts: Counts::Operation, run: statfs,
    },
    {
        verb: Verb {
            name: "chmod",
            group: "names",
            doc: "Changes the permission bits of a member of a set.",
            object: Some(Kind::Set),
            bare: true,
            args: &[PICK, Field::required("permissions", Kind::Text, "permission bits in octal, in quotes: \"0644\"")],
        },
        object: Object::Set, counts: Counts::Operation, run: chmod,
    },
    {
        verb: Verb {
            name: "utimes",
            group: "names",
            doc: "Sets the access and modification time of a member of a set to now.",
            object: Some(Kind::Set),
            bare: true,
            args: &[PICK],
        },
        object: Object::Set, counts: Counts::Operation, run: utimes,
    },
    {
        verb: Verb {
            name: "remove_all",
            group: "names",
            doc: "Deletes every member of a set, each unlink counted.",
            object: Some(Kind::Set),
            bare: false,
            args: &[ORDER, LIMIT],
        },
        object: Object::Set, counts: Counts::Operation, run: remove_all, by_age: true,
        detail: Detail::Order(Order::Oldest),
    },
}

/// A call on one name below a directory.
type Named<O> = fn(&mut O, Fd, &CStr) -> Call<()>;

/// Takes a file in hand by the step's rule. `Err`: what the set's guard says.
fn pick<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args, call: &'static str) -> Result<(), Flow> {
    match worker.pick(args.set, args.pick) {
        Some(()) => Ok(()),
        None => Err(worker.guarded(plan.sets[usize::from(args.set)].empty, call, "the set has no file")),
    }
}

/// A call on a name that is no member.
fn on_free_name<O: Os>(worker: &mut Worker<O>, args: &Args, call: &'static str, f: Named<O>) -> Flow {
    let dir = worker.free_path(args.set, args.name);
    let result = worker.with_path(|os, path| f(os, dir, path));
    worker.settle(args, result, call)
}

fn unlink<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    if args.name != NO_NAME {
        return on_free_name(worker, args, "unlink", O::unlink);
    }
    if let Err(flow) = pick(worker, plan, args, "unlink") {
        return flow;
    }
    let dir = worker.member_path(args.set);
    let result = worker.with_path(|os, path| os.unlink(dir, path));
    if result.is_ok() {
        let fd = worker.hands[usize::from(args.set)].file.fd;
        worker.forget_member(args.set);
        if fd >= 0 {
            // Deleted while open: the descriptor goes with the hand.
            let _ = worker.os.close(fd);
        }
    }
    worker.settle(args, result, "unlink")
}

fn rename<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    if let Err(flow) = pick(worker, plan, args, "rename") {
        return flow;
    }
    let set = usize::from(args.set);
    let from_dir = worker.member_path(args.set);
    let from = worker.take_path();
    let slot = worker.hands[set].file.slot;
    let Some(number) = worker.with_pool(args.set, |pool| pool.renumber(slot)).flatten() else {
        return worker.guarded(plan.sets[set].empty, "rename", "the set has no file");
    };
    let old = worker.hands[set].file.member.number;
    worker.hands[set].file.member.number = number;
    let to_dir = worker.member_path(args.set);
    let result = worker.with_path(|os, to| {
        os.rename(from_dir, CStr::from_bytes_until_nul(&from).unwrap_or(c""), to_dir, to)
    });
    if result.is_err() {
        worker.hands[set].file.member.number = old;
        worker.with_pool(args.set, |pool| pool.set_number(slot, old));
    }
    worker.settle(args, result, "rename")
}

fn replace<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    let set = usize::from(args.set);
    let others = worker.with_pool(args.set, |pool| pool.len()).unwrap_or(0);
    if worker.hands[set].is_empty() || others < 2 {
        return worker.guarded(
            plan.sets[set].empty,
            "rename",
            "there is no file in hand, or none to put it over",
        );
    }
    // Choosing the other file lays this one down.
    worker.lay_down(args.set);
    let file = worker.hands[set].file;
    let from_dir = worker.member_path(args.set);
    let from = worker.take_path();
    // No longer a member of its own: it cannot be chosen, by this worker or another.
    worker.forget_member(args.set);
    if let Err(flow) = pick(worker, plan, args, "rename") {
        return flow;
    }
    let to_dir = worker.member_path(args.set);
    let result = worker.with_path(|os, to| {
        os.rename(from_dir, CStr::from_bytes_until_nul(&from).unwrap_or(c""), to_dir, to)
    });
    if result.is_ok() {
        worker.hands[set].file.size = file.size;
        worker.store_size(args.set);
    }
    worker.settle(args, result, "rename")
}

fn link<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    if let Err(flow) = pick(worker, plan, args, "link") {
        return flow;
    }
    let set = usize::from(args.set);
    let from_dir = worker.member_path(args.set);
    let from = worker.take_path();
    let file = worker.hands[set].file;
    // Its hand goes to the new member; nobody else may remove the old one meanwhile.
    worker.hold(args.set, file.slot, true);
    if worker.new_member(args.set, file.size).is_none() {
        worker.hold(args.set, file.slot, false);
        return worker.guarded(plan.sets[set].full, "link", "the set is full");
    }
    let to_dir = worker.member_path(args.set);
    let result = worker
        .with_path(|os, to| os.link(from_dir, CStr::from_bytes_until_nul(&from).unwrap_or(c""), to_dir, to));
    worker.hold(args.set, file.slot, false);
    if result.is_err() {
        worker.forget_member(args.set);
    }
    worker.settle(args, result, "link")
}

fn symlink<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    if let Err(flow) = pick(worker, plan, args, "symlink") {
        return flow;
    }
    // The link stands beside its target: the bare name is enough and leads nowhere else.
    worker.member_path(args.set);
    let target = worker.take_path();
    let name_at = target.iter().rposition(|b| *b == b'/').map_or(0, |i| i + 1);
    let dir = worker.free_path(args.set, args.name);
    let result = worker.with_path(|os, path| {
        os.symlink(CStr::from_bytes_until_nul(&target[name_at..]).unwrap_or(c""), dir, path)
    });
    worker.settle(args, result, "symlink")
}

fn readlink<O: Os>(worker: &mut Worker<O>, _: &Plan, args: &Args) -> Flow {
    on_free_name(worker, args, "readlink", |os, dir, path| os.readlink(dir, path).map(|_| ()))
}

fn mkdir<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    let mode = match args.opening.permissions {
        0 => plan.sets[usize::from(args.set)].dir_permissions,
        mode => mode,
    };
    on_dirs(worker, plan, args, "mkdir", |os, dir, path| os.mkdir(dir, path, mode))
}

fn rmdir<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    on_dirs(worker, plan, args, "rmdir", |os, dir, path| os.rmdir(dir, path))
}

/// A call on the directory a step names: the set's own, every subdirectory, or one by name.
fn on_dirs<O: Os>(
    worker: &mut Worker<O>,
    plan: &Plan,
    args: &Args,
    call: &'static str,
    f: impl Fn(&mut O, Fd, &CStr) -> Call<()>,
) -> Flow {
    if args.detail == Detail::Subdirs {
        for dir in 0..plan.sets[usize::from(args.set)].dirs.as_ref().map_or(0, |d| d.count) {
            if dir > 0 && !worker.may_go_on(ClaimUnit::Operations, 0) {
                return Flow::Over;
            }
            let base = worker.path_in(args.set, dir, None);
            let result = worker.with_path(|os, path| f(os, base, path));
            match worker.settle(args, result, call) {
                Flow::Next => {}
                other => return other,
            }
        }
        return Flow::Next;
    }
    let dir = match args.name {
        NO_NAME => worker.set_dir_path(args.set),
        name => worker.free_path(args.set, name),
    };
    let result = worker.with_path(|os, path| f(os, dir, path));
    worker.settle(args, result, call)
}

fn list<O: Os>(worker: &mut Worker<O>, _: &Plan, args: &Args) -> Flow {
    let dir = worker.hands[usize::from(args.set)].file.member.dir;
    let base = worker.path_in(args.set, dir, None);
    let flags = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_DIRECTORY;
    let result = worker.with_path(|os, path| {
        let fd = os.open(base, path, flags, 0)?;
        // What a C library's directory stream does.
        let read = os.fstat(fd).and_then(|_| {
            while os.getdents(fd)? > 0 {}
            Ok(())
        });
        os.close(fd)?;
        read
    });
    worker.settle(args, result, "getdents64")
}

fn stat<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    if args.name != NO_NAME {
        return on_free_name(worker, args, "stat", |os, dir, path| os.stat(dir, path).map(|_| ()));
    }
    if args.detail == Detail::OpenFile {
        let fd = worker.hands[usize::from(args.set)].file.fd;
        let result = worker.os.fstat(fd).map(|_| ());
        return worker.settle(args, result, "fstat");
    }
    if let Err(flow) = pick(worker, plan, args, "stat") {
        return flow;
    }
    let dir = worker.member_path(args.set);
    let result = worker.with_path(|os, path| os.stat(dir, path).map(|_| ()));
    worker.settle(args, result, "stat")
}

fn statfs<O: Os>(worker: &mut Worker<O>, _: &Plan, args: &Args) -> Flow {
    let root = worker.os.root();
    let result = worker.os.statfs(root).map(|_| ());
    worker.settle(args, result, "statfs")
}

fn chmod<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    if let Err(flow) = pick(worker, plan, args, "chmod") {
        return flow;
    }
    let dir = worker.member_path(args.set);
    let mode = args.opening.permissions;
    let result = worker.with_path(|os, path| os.chmod(dir, path, mode));
    worker.settle(args, result, "chmod")
}

fn utimes<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    if let Err(flow) = pick(worker, plan, args, "utimes") {
        return flow;
    }
    let dir = worker.member_path(args.set);
    let result = worker.with_path(|os, path| os.utimes(dir, path));
    worker.settle(args, result, "utimensat")
}

fn remove_all<O: Os>(worker: &mut Worker<O>, _: &Plan, args: &Args) -> Flow {
    let Detail::Order(order) = args.detail else { return Flow::Next };
    let mut slots = worker.members(args.set, order);
    if let Some(limit) = args.limit {
        slots.truncate(limit as usize);
    }
    // One operation is claimed already; each further one claims its own.
    let mut claimed = true;
    for slot in slots {
        if worker.is_over() {
            return Flow::Over;
        }
        // Gone, or in another worker's hand.
        if worker.take(args.set, slot).is_none() {
            continue;
        }
        if !std::mem::take(&mut claimed) && !worker.may_go_on(ClaimUnit::Operations, 0) {
            return Flow::Over;
        }
        let dir = worker.member_path(args.set);
        let result = worker.with_path(|os, path| os.unlink(dir, path));
        if result == Err(Errno(libc::ENOENT)) || result.is_ok() {
            worker.forget_member(args.set);
        }
        match worker.settle(args, result, "unlink") {
            Flow::Next => {}
            other => return other,
        }
    }
    if claimed {
        worker.unclaim(ClaimUnit::Operations);
    }
    Flow::Next
}
