//! What makes data safe, and what empties the cache.

use super::row::*;
use super::table::family;
use crate::os::{Errno, Os};
use crate::plan::instr::*;
use crate::profile::shape::{Kind, Verb};
use crate::vm::fault::Flow;
use crate::vm::random::Purpose;
use crate::vm::worker::Worker;

family! {
    {
        verb: Verb {
            name: "fsync",
            group: "durability",
            doc: "Makes the file in hand and its metadata safe.",
            object: Some(Kind::Set),
            bare: true,
            args: &[IN],
        },
        object: Object::Set, counts: Counts::Operation, run: fsync, needs_open: true,
    },
    {
        verb: Verb {
            name: "fdatasync",
            group: "durability",
            doc: "Makes the data of the file in hand safe, and only the metadata needed to read it.",
            object: Some(Kind::Set),
            bare: true,
            args: &[IN],
        },
        object: Object::Set, counts: Counts::Operation, run: fdatasync, needs_open: true,
    },
    {
        verb: Verb {
            name: "sync_range",
            group: "durability",
            doc: "Writes so many bytes from where `at: next` stands out of the page cache (sync_file_range); no promise of safety.",
            object: Some(Kind::Distribution),
            bare: false,
            args: &[IN],
        },
        object: Object::Value, counts: Counts::Operation, run: sync_range, needs_open: true,
    },
    {
        verb: Verb {
            name: "fsync_dir",
            group: "durability",
            doc: "Makes the names in the directory of the file in hand safe: opens it, fsyncs it, closes it.",
            object: Some(Kind::Set),
            bare: true,
            args: &[IN],
        },
        object: Object::Set, counts: Counts::Operation, run: fsync_dir,
    },
    {
        verb: Verb {
            name: "syncfs",
            group: "durability",
            doc: "Makes everything on the target's file system safe.",
            object: None,
            bare: true,
            args: &[],
        },
        object: Object::None, counts: Counts::Operation, run: syncfs,
    },
    {
        verb: Verb {
            name: "sync",
            group: "durability",
            doc: "Makes everything on every file system of the machine safe.",
            object: None,
            bare: true,
            args: &[],
        },
        object: Object::None, counts: Counts::Operation, run: sync,
    },
    {
        verb: Verb {
            name: "drop_caches",
            group: "durability",
            doc: "Drops the clean page cache, directory entries and inodes of the machine. Only root may.",
            object: None,
            bare: true,
            args: &[],
        },
        object: Object::None, counts: Counts::Operation, run: drop_caches,
    },
}

fn fsync<O: Os>(worker: &mut Worker<O>, _: &Plan, args: &Args) -> Flow {
    sync_file(worker, args, "fsync", O::fsync)
}

fn fdatasync<O: Os>(worker: &mut Worker<O>, _: &Plan, args: &Args) -> Flow {
    sync_file(worker, args, "fdatasync", O::fdatasync)
}

fn sync_file<O: Os>(
    worker: &mut Worker<O>,
    args: &Args,
    call: &'static str,
    f: fn(&mut O, i32) -> Result<(), Errno>,
) -> Flow {
    if let Err(errno) = worker.flush_buffered(args.set) {
        return worker.settle(args, Err(errno), "write");
    }
    let fd = worker.hands[usize::from(args.set)].file.fd;
    let result = f(&mut worker.os, fd);
    if result.is_err() {
        worker.member_path(args.set);
    }
    worker.settle(args, result, call)
}

fn sync_range<O: Os>(worker: &mut Worker<O>, _: &Plan, args: &Args) -> Flow {
    let len = worker.draw(args.value, Purpose::Size, args.set);
    let file = worker.hands[usize::from(args.set)].file;
    let result = worker.os.sync_range(file.fd, file.cursor.saturating_sub(len), len);
    worker.settle(args, result, "sync_file_range")
}

fn fsync_dir<O: Os>(worker: &mut Worker<O>, _: &Plan, args: &Args) -> Flow {
    let dir = worker.hands[usize::from(args.set)].file.member.dir;
    let base = worker.path_in(args.set, dir, None);
    let result = worker.with_path(|os, path| {
        let fd = os.open(base, path, libc::O_RDONLY | libc::O_DIRECTORY, 0)?;
        let synced = os.fsync(fd);
        os.close(fd)?;
        synced
    });
    worker.settle(args, result, "fsync")
}

fn syncfs<O: Os>(worker: &mut Worker<O>, _: &Plan, args: &Args) -> Flow {
    let root = worker.os.root();
    let result = worker.os.syncfs(root);
    worker.settle(args, result, "syncfs")
}

fn sync<O: Os>(worker: &mut Worker<O>, _: &Plan, args: &Args) -> Flow {
    let result = worker.os.sync();
    worker.settle(args, result, "sync")
}

fn drop_caches<O: Os>(worker: &mut Worker<O>, _: &Plan, args: &Args) -> Flow {
    let result = worker.os.drop_caches();
    // Expected or not: what is read next may come from memory.
    if let Err(errno) = result {
        worker.refused_drop.get_or_insert(errno);
    }
    worker.settle(args, result, "drop_caches")
}
