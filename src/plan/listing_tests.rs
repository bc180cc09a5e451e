use super::*;
use crate::plan::sketch::{Sketch, rich, uniform};

#[test]
fn a_plan_with_some_of_everything() {
    insta::assert_snapshot!(listing(&rich().plan), @r"
    workers   4
    engine    sync, depth 1, through the page cache
    random    ChaCha8, one stream a purpose and worker, seed of the run
    transfers up to 1MiB

    set mail (shared, one lock)
      files     800 at the start, room for 1000
      size      quantiles 0..1MiB, median 4055 with a fine tail, at most 1MiB
      layout    written, random
      named     mail/s{worker}/{n:08}
      subdirs   3, another every 100 files
      directory made ahead, 0755
      guards    empty: skip, full: skip, no room: error

    set log (a pool for each worker)
      files     1 at the start, room for any number
      size      64MiB
      layout    written, random
      named     log/{n:08}
      directory made ahead, 0755
      kept open read and write, direct
      guards    empty: error, full: error, no room: error

    schedule
      phase fill
      phase work
      phase clean

    phase fill
      workers 0 to 3
                0  repeat 200, then L3, the phase's own loop
        L1      1    create mail, write, create, trunc, 0644, else skip to L2 -> fill.create
                2    write 75% 4KiB, 25% 64KiB in mail at next, zero -> fill.write
                3    close mail -> fill.close
                4    fsync mail, only every 10th time -> fill.fsync
        L2      5    again from L1
        L3      6  end of loop
                7  end

    phase work
      workers 0 to 3
                0  for 20s ramp 5s, then L6, the phase's own loop
        L1      1    pace 100 iterations a second, random intervals, each worker
                2    mix: 75% L2, 25% L3
        L2      3    open mail by zipf 1.1, read, else skip to L5 -> work.open
                4    read the whole file in blocks of 4KiB in mail at next -> work.read
                5    close mail -> work.close
                6    go to L4
        L3      7    stat mail name no{digits:6}, expects ENOENT -> work.stat
                8    list mail -> work.list
                9    unlink mail oldest, else skip to L5 -> work.unlink
               10    go to L4
        L4     11    write 16KiB x 64 of 1MiB in log at 50% next, 28% random, 22% start, zero -> work.write
        L5     12    again from L1
        L6     13  end of loop
               14  end

    phase clean
      workers 0 to 3
                0  each mail oldest first, by L2
        L1      1    unlink mail, else skip to L2 -> clean.unlink
        L2      2  the next one from L1
                3  end

    left to the machine
      whose turn it is at the shared set mail
      how many operations 20s of work hold
      the order in which list reads directories in work
    ");
}

#[test]
fn what_rich_plans_do_not_hold() {
    let mut s = Sketch::new(3);
    s.plan.engines[0] =
        EnginePlan { name: "libaio".into(), depth: 64, direct: Direct::Require, fallback: vec![] };
    s.plan.random = RandomPlan { generator: Generator::Mt19937 { burn: 10 }, seed: Some(42) };
    let data = s.set("data", 1, Draw::Const(1 << 30), |set| {
        (set.layout, set.kept_open) = (Layout::None, Some(libc::O_RDWR | libc::O_DIRECT));
    });
    let source = s.set("source", 1, Draw::Const(4096), |set| set.memory = true);
    s.until(Until::Bytes { total: 1 << 30, each: false }, |s| {
        s.op("read", data, |a| {
            (a.amount, a.block) = (Amount::Bytes(Draw::Const(10_000)), Some(Draw::Const(4096)));
            (a.at, a.remainder) = (At::Hot { share: 1 << 31, of: 1 << 30 }, Remainder::Always);
        });
        s.op("copy_range", data, |a| (a.value, a.other) = (Draw::Const(4096), source));
        s.op("fallocate", data, |a| {
            (a.value, a.detail) = (uniform(1, 4096), Detail::Space(crate::os::Space::KeepSize));
        });
        s.op("think", NO_SET, |a| (a.value, a.detail) = (Draw::Const(5_000_000), Detail::Pause));
        s.op("barrier", NO_SET, |a| a.detail = Detail::Barrier(0));
    });
    s.group("load", 2, false);
    s.op("advise", data, |a| a.detail = Detail::Advice(crate::os::Advice::DontNeed));
    s.op("chmod", data, |a| {
        (a.pick, a.opening.permissions, a.must_fail) =
            (Pick::Random, 0o600, Some(crate::os::Errno(libc::EROFS)));
    });
    s.group("other", 1, true);
    s.phase("mixed");
    let body = std::mem::take(&mut s.plan.schedule);
    s.plan.schedule = vec![Schedule::Loop { until: Until::Times(2), body }];
    insta::assert_snapshot!(listing(&s.plan), @r"
    workers   3
    engine    libaio, depth 64, direct I/O required
    random    MT19937, one stream in program order, 10 draws thrown away, seed 42
    transfers up to 1MiB

    set data (shared, one lock)
      files     1 at the start, room for any number
      size      1GiB
      layout    sized but not written: holes
      named     data/{n:08}
      directory made ahead, 0755
      kept open read and write, direct
      guards    empty: error, full: error, no room: error

    set source (in memory, one for each worker)
      files     1 at the start, room for any number
      size      4KiB
      layout    filled with random

    schedule
      repeat 2
        phase mixed

    phase mixed
      group load, workers 0 to 1
                0  until 1GiB of all workers together, then L2, the phase's own loop
        L1      1    read 10000 in blocks of 4KiB in data at hot 50% of 25%, a remainder always -> mixed.read
                2    copy_range 4KiB in data from source -> mixed.copy_range
                3    fallocate 1..4KiB in data keep_size -> mixed.fallocate
                4    think 5ms -> mixed.think
                5    barrier 0 -> mixed.barrier
                6    again from L1
        L2      7  end of loop
                8  end
      group other, worker 2, ends the phase
                0  advise in data dontneed -> mixed.advise
                1  chmod data random, 0600, must fail with EROFS -> mixed.chmod
                2  end

    left to the machine
      whose turn it is at the shared set data
      how far the other groups of mixed come before it ends
      which worker of mixed does how much: until 1GiB of all workers together
      the order in which 64 transfers in flight end
    ");
}

#[test]
fn one_worker_that_repeats_leaves_nothing_to_the_machine() {
    let mut s = Sketch::new(1);
    let set = s.set("data", 0, Draw::Const(0), |_| {});
    s.repeat(1_000_000, |s| s.new_file(set, Draw::Const(4096)));
    s.phase("fill");
    assert!(listing(&s.plan).ends_with("left to the machine\n  nothing\n"));
}

#[test]
fn a_broken_plan_is_listed_all_the_same() {
    let mut plan = rich().plan;
    plan.args.clear();
    plan.tables.clear();
    plan.loops.clear();
    plan.names.clear();
    assert!(listing(&plan).contains('?'));
}
