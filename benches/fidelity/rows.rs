//! What is compared: an original's command and ours, that do the same work.

use std::path::Path;

use crate::support::readings::{printed, recorded, said, terse};

/// In the commands, `{dir}` is an empty directory of the file system, `{aside}` one in memory for what
/// is not measured, `{n}` the amount of work, `{out}` a place for our record.
pub struct Row {
    /// The tool's section of the page.
    pub tool: &'static str,
    /// Debian's package of it.
    pub package: &'static str,
    pub work: &'static str,
    pub ours: &'static str,
    pub theirs: &'static str,
    /// What `{n}` is in memory and on a disk.
    pub amount: [u64; 2],
    /// Reads our rate and theirs.
    pub rate: Rate,
    /// What a unit of the rate is.
    pub unit: &'static str,
}

/// Where the rate is said.
pub enum Rate {
    /// Our metric, and the number under a column of the original's table.
    Column(&'static str, &'static str),
    /// Our metric, and the number behind a word of the original, in so many of our units.
    Word(&'static str, &'static str, f64),
    /// Our metric, and operations per second of fio's terse output, in the field of that number.
    Terse(&'static str, usize),
    /// Our metric in bytes a second, and bytes over seconds as dd prints them.
    Copied(&'static str),
    /// The amount over our metric in seconds, and over the wall time of the original.
    Seconds(&'static str),
    /// The amount over the wall time of either, for originals whose own clock is too coarse.
    Whole,
}

pub const ROWS: &[Row] = &[
    Row {
        tool: "fs_mark",
        package: "fsmark",
        work: "files of 1 MiB, an fsync each",
        ours: "fs-mark:1000-files --set files={n}",
        theirs: "fs_mark -d {dir}/w -s 1048576 -n {n} -l {aside}/log",
        amount: [100, 40],
        rate: Rate::Column("Files/s", "Files/sec"),
        unit: "files/s",
    },
    Row {
        tool: "fs_mark",
        package: "fsmark",
        work: "files of 1 MiB, no fsync",
        ours: "fs-mark:1000-files-nosync --set files={n}",
        theirs: "fs_mark -d {dir}/w -s 1048576 -n {n} -S 0 -l {aside}/log",
        amount: [200, 200],
        rate: Rate::Column("Files/s", "Files/sec"),
        unit: "files/s",
    },
    Row {
        tool: "postmark",
        package: "postmark",
        work: "the whole program, sizes as published",
        ours: "postmark --set transactions={n}",
        theirs: "postmark {aside}/config",
        amount: [4000, 2000],
        rate: Rate::Whole,
        unit: "transactions/s",
    },
    Row {
        tool: "dd",
        package: "coreutils",
        work: "blocks of 1 MiB, conv=fdatasync",
        ours: "dd:fdatasync --set count={n}",
        theirs: "dd if={aside}/source of={dir}/f bs=1M count={n} conv=fdatasync",
        amount: [64, 64],
        rate: Rate::Copied("Rate"),
        unit: "B/s",
    },
    Row {
        tool: "fio",
        package: "fio",
        work: "psync, random reads of 4 KiB, cached",
        ours: "fio:randread-4kib --set engine=sync --set depth=1 --set direct=never --set size=16MiB --set time=500ms --set ramp=0s --set delay=0s",
        theirs: "fio --name=r --filename={dir}/f --bs=4k --rw=randread --ioengine=psync --invalidate=0 --size=16m --time_based --runtime=500ms --output-format=terse --terse-version=3",
        amount: [1, 1],
        rate: Rate::Terse("IOPS", 7),
        unit: "reads/s",
    },
    Row {
        tool: "fio",
        package: "fio",
        work: "libaio, random writes of 4 KiB, direct, depth 16",
        ours: "fio:randwrite-4kib --set engine=libaio --set depth=16 --set direct=require --set size=16MiB --set time=500ms --set ramp=0s --set delay=0s",
        theirs: "fio --name=r --filename={dir}/f --bs=4k --rw=randwrite --ioengine=libaio --iodepth=16 --direct=1 --size=16m --time_based --runtime=500ms --refill_buffers=1 --output-format=terse --terse-version=3",
        amount: [1, 1],
        rate: Rate::Terse("IOPS", 48),
        unit: "writes/s",
    },
    Row {
        tool: "fio",
        package: "fio",
        work: "io_uring, random reads of 4 KiB, direct, depth 32",
        ours: "fio:randread-4kib --set engine=io_uring --set depth=32 --set direct=require --set size=16MiB --set time=500ms --set ramp=0s --set delay=0s",
        theirs: "fio --name=r --filename={dir}/f --bs=4k --rw=randread --ioengine=io_uring --iodepth=32 --direct=1 --size=16m --time_based --runtime=500ms --output-format=terse --terse-version=3",
        amount: [1, 1],
        rate: Rate::Terse("IOPS", 7),
        unit: "reads/s",
    },
    Row {
        tool: "sqlite",
        package: "sqlite3",
        work: "inserts, a transaction each",
        ours: "sqlite-insert:timed-insertions --set rounds=1 --set inserts={n}",
        theirs: "sqlite3 -batch -init {aside}/empty {dir}/benchmark.db",
        amount: [2000, 60],
        rate: Rate::Seconds("Time"),
        unit: "inserts/s",
    },
    Row {
        tool: "dbench",
        package: "dbench",
        work: "1 client, its own load",
        ours: "dbench:1-client --set loadfile=/usr/share/dbench/client.txt --set warmup=1s --set time=2s",
        theirs: "dbench -t 3 -D {dir} -c /usr/share/dbench/client.txt 1",
        amount: [1, 1],
        rate: Rate::Word("Throughput", "Throughput", 1e6),
        unit: "B/s",
    },
];

impl Rate {
    /// Our rate, from the record of a run of `amount` that took so many seconds as a whole.
    pub fn ours(&self, record: &Path, amount: u64, seconds: f64) -> Result<f64, String> {
        let value = |metric| recorded(record, metric);
        match self {
            Self::Column(metric, _) | Self::Word(metric, ..) => value(Some(metric)),
            Self::Terse(metric, _) | Self::Copied(metric) => value(Some(metric)),
            Self::Seconds(metric) => Ok(amount as f64 / value(Some(metric))?),
            // A program that did nothing would be fast.
            Self::Whole => value(None).map(|_| amount as f64 / seconds),
        }
    }

    /// Their rate, from what they printed on both streams.
    pub fn theirs(&self, text: &str, amount: u64, seconds: f64) -> Result<f64, String> {
        match self {
            Self::Column(_, column) => printed(text, column),
            Self::Word(_, word, unit) => Ok(said(text, word)? * unit),
            Self::Terse(_, field) => terse(text, *field),
            Self::Copied(_) => copied(text).ok_or_else(|| format!("no bytes and seconds in:\n{text}")),
            Self::Seconds(_) | Self::Whole => Ok(amount as f64 / seconds),
        }
    }
}

/// Bytes a second of a line `104857600 bytes (105 MB, 100 MiB) copied, 0.0649 s, 1.6 GB/s`.
fn copied(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.contains(" copied, "))?;
    let bytes: f64 = line.split(' ').next()?.parse().ok()?;
    let seconds: f64 = line.split(" copied, ").nth(1)?.split(' ').next()?.parse().ok()?;
    Some(bytes / seconds)
}
