//! Operands in words, as a listing shows them: draws, tables, places, names, flags, ends of loops.
//! Knows what operands mean, neither programs nor machines.

use super::instr::*;
use super::stream::Kind;
use crate::os::{Recipe, Space};
use crate::profile::units::{format_duration, format_percent, format_size};

/// Values of a table that are shown one by one.
const SHOWN_VALUES: usize = 8;

/// How a number is meant.
pub type Show = fn(u64) -> String;

/// A number drawn at run time.
pub fn draw(draw: Draw, tables: &[Table], show: Show) -> String {
    match draw {
        Draw::Const(n) => show(n),
        Draw::Uniform { lo, hi, step } => {
            let ends = format!("{}..{}", bound(lo, show), bound(hi, show));
            if step > 1 { format!("{ends} in steps of {}", show(step)) } else { ends }
        }
        Draw::Table(id) => match tables.get(id as usize) {
            Some(drawn) => table(drawn, show),
            None => "?".into(),
        },
    }
}

fn bound(bound: Bound, show: Show) -> String {
    match bound {
        Bound::Number(n) => show(n),
        Bound::FileSize => "{file.size}".into(),
        Bound::FileRoom => "{file.room}".into(),
    }
}

/// A share of 2^32, to a hundredth of a percent.
fn share(part: u32) -> String {
    percent(f64::from(part) / 4_294_967_296.0)
}

fn percent(fraction: f64) -> String {
    format_percent((fraction * 10_000.0).round() / 10_000.0)
}

/// A table in short.
pub fn table(table: &Table, show: Show) -> String {
    match table {
        Table::Lookup { values, index } if values.len() <= SHOWN_VALUES => {
            let drawn = |i: usize| index.iter().filter(|x| usize::from(**x) == i).count();
            let each = values.iter().enumerate().map(|(i, value)| {
                format!("{} {}", percent(drawn(i) as f64 / index.len().max(1) as f64), show(*value))
            });
            each.collect::<Vec<_>>().join(", ")
        }
        Table::Lookup { values, .. } => {
            let ends = (values.iter().min(), values.iter().max());
            let (lo, hi) = (ends.0.copied().unwrap_or(0), ends.1.copied().unwrap_or(0));
            format!("one of {} values, {}..{}", values.len(), show(lo), show(hi))
        }
        Table::Quantiles { values, tail } => {
            let at = |i: usize| values.get(i).copied().unwrap_or(0);
            let last = values.len().saturating_sub(1);
            let tail = if tail.is_empty() { "" } else { " with a fine tail" };
            format!("quantiles {}..{}, median {}{tail}", show(at(0)), show(at(last)), show(at(last / 2)))
        }
        Table::Zipf { exponent } => format!("zipf {exponent}"),
        Table::Hot { share: part, of } => format!("hot {} of {}", share(*part), share(*of)),
    }
}

fn ranked(id: u32, tables: &[Table]) -> String {
    tables.get(id as usize).map_or_else(|| "?".into(), |t| table(t, |n| n.to_string()))
}

/// Which member is taken; empty for the one in hand.
pub fn pick(pick: Pick, tables: &[Table]) -> String {
    match pick {
        Pick::Same => String::new(),
        Pick::Random => "random".into(),
        Pick::Next => "next".into(),
        Pick::Oldest => "oldest".into(),
        Pick::Newest => "newest".into(),
        Pick::Ranked(id) => format!("by {}", ranked(id, tables)),
    }
}

/// Where a transfer goes.
pub fn at(place: At, plan: &Plan) -> String {
    match place {
        At::Next => "next".into(),
        At::EachWay => "each_way".into(),
        At::Random => "random".into(),
        At::Permuted => "permuted".into(),
        At::Start => "start".into(),
        At::End => "end".into(),
        At::Offset(offset) => draw(offset, &plan.tables, format_size),
        At::Ranked(id) => ranked(id, &plan.tables),
        At::Hot { share: part, of } => format!("hot {} of {}", share(part), share(of)),
        At::Stride(n) => format!("stride {}", format_size(n)),
        At::Weighted(id) => {
            let places = plan.ats.get(usize::from(id)).map_or(&[][..], Vec::as_slice);
            let total: f64 = places.iter().map(|(_, w)| f64::from(*w)).sum();
            let each = places.iter().map(|(place, weight)| {
                let place = if let At::Weighted(_) = place { "?".into() } else { at(*place, plan) };
                format!("{} {place}", percent(f64::from(*weight) / total.max(1.0)))
            });
            each.collect::<Vec<_>>().join(", ")
        }
    }
}

/// What is written.
pub fn data(recipe: Recipe) -> String {
    match recipe {
        Recipe::Zero => "zero".into(),
        Recipe::Byte(value) => format!("byte {value:#04x}"),
        Recipe::Text => "text".into(),
        Recipe::Random => "random".into(),
        Recipe::Mixed { compressible, duplicate } => {
            format!("compressible {compressible}%, duplicate {duplicate}%")
        }
        Recipe::Read => "what was read".into(),
    }
}

/// A name as a profile writes it.
pub fn name(segments: &[Segment]) -> String {
    let mut out = String::new();
    for segment in segments {
        match segment {
            Segment::Literal(text) => {
                out.push_str(&String::from_utf8_lossy(text).replace('{', "{{").replace('}', "}}"));
            }
            Segment::Number(s) => out.push_str(&format!("{{n{}}}", spec(s))),
            Segment::Worker(s) => out.push_str(&format!("{{worker{}}}", spec(s))),
            Segment::Clock(s) => out.push_str(&format!("{{clock{}}}", spec(s))),
            Segment::Random(count) => out.push_str(&format!("{{random:{count}}}")),
            Segment::Digits(count) => out.push_str(&format!("{{digits:{count}}}")),
        }
    }
    out
}

fn spec(spec: &Spec) -> String {
    let align = match spec.align {
        Align::Left => "<",
        Align::Right => ">",
        Align::Center => "^",
    };
    let radix = match (spec.radix, spec.upper) {
        (16, true) => "X",
        (16, false) => "x",
        _ => "",
    };
    let width = match (spec.fill, spec.align, spec.width) {
        (_, _, 0) => String::new(),
        (b'0', Align::Right, width) => format!("0{width}"),
        (b' ', _, width) => format!("{align}{width}"),
        (fill, _, width) => format!("{}{align}{width}", char::from(fill)),
    };
    if width.is_empty() && radix.is_empty() { String::new() } else { format!(":{width}{radix}") }
}

/// Flags of `open(2)`.
pub fn flags(flags: i32) -> String {
    let access = match flags & libc::O_ACCMODE {
        libc::O_WRONLY => "write",
        libc::O_RDWR => "read and write",
        _ => "read",
    };
    let mut words = vec![access];
    let sync = if flags & libc::O_SYNC == libc::O_SYNC { "sync" } else { "dsync" };
    for (flag, word) in [
        (libc::O_CREAT, "create"),
        (libc::O_EXCL, "excl"),
        (libc::O_TRUNC, "trunc"),
        (libc::O_APPEND, "append"),
        (libc::O_DSYNC, sync),
        (libc::O_DIRECT, "direct"),
        (libc::O_NOATIME, "noatime"),
    ] {
        // O_DIRECT has a bit of its own everywhere; O_SYNC holds that of O_DSYNC.
        if flags & flag == flag {
            words.push(word);
        }
    }
    words.join(", ")
}

/// The word an operation was given.
pub fn detail(detail: Detail) -> Option<String> {
    Some(match detail {
        Detail::Nothing | Detail::Pause | Detail::Script(_) => return None,
        Detail::Advice(advice) => format!("{advice:?}").to_lowercase(),
        Detail::Space(Space::KeepSize) => "keep_size".into(),
        Detail::Space(how) => format!("{how:?}").to_lowercase(),
        Detail::Lock(kind) => format!("{kind:?}").to_lowercase(),
        Detail::Order(by) => order(by).into(),
        Detail::Barrier(id) => format!("{id}"),
        Detail::OpenFile => "of the open file".into(),
        Detail::Subdirs => "every subdirectory".into(),
        Detail::Relative => "from where it is".into(),
        Detail::Tree(step) => tree(&step)?,
        Detail::Replay(id) => format!("load {id}"),
    })
}

/// Statements: one as it is written, several by their number and the first of them.
pub fn script(args: &Args, plan: &Plan) -> String {
    let script = match args.detail {
        Detail::Script(id) => plan.sql.scripts.get(id as usize),
        _ => None,
    };
    match script.map_or(&[][..], Vec::as_slice) {
        [] => "no statement".into(),
        [one] => name(&one.pieces),
        [first, ..] => {
            let count = script.map_or(0, Vec::len);
            format!("{count} statements from {}", name(&first.pieces))
        }
    }
}

/// How members are walked over.
pub fn order(order: Order) -> &'static str {
    match order {
        Order::Oldest => "oldest first",
        Order::Newest => "newest first",
        Order::Slot => "by slot",
        Order::Random => "in random order",
    }
}

/// What happens when a pool cannot give what is asked.
pub fn guard(guard: Guard) -> &'static str {
    match guard {
        Guard::Skip => "skip",
        Guard::EndPhase => "end the phase",
        Guard::Error => "error",
    }
}

/// When a loop ends.
pub fn until(until: Until) -> String {
    let all = |each: bool| if each { "each worker" } else { "all workers together" };
    match until {
        Until::Times(n) => format!("repeat {n}"),
        Until::Time(span) => format!("for {}", format_duration(span)),
        Until::Ops { total, each, data } => {
            let unit = if data { "transfers" } else { "operations" };
            format!("until {total} {unit} of {}", all(each))
        }
        Until::Bytes { total, each } => format!("until {} of {}", format_size(total), all(each)),
        Until::Passes(n) => format!("until {n} passes"),
        Until::Exhausted => "until exhausted".into(),
        Until::Steady { windows, within, at_most } => format!(
            "until steady over {windows} s within {}, at most {}",
            percent(f64::from(within) / 1000.0),
            format_duration(at_most)
        ),
    }
}

/// A rate.
pub fn pace(pace: &PacePlan) -> String {
    let rate = match pace.bytes > 0.0 {
        true => format!("{} a second", format_size(pace.bytes as u64)),
        false => format!("{} iterations a second", pace.ops),
    };
    let how = if pace.poisson { ", random intervals" } else { "" };
    let debt = if pace.debt { "" } else { ", lost time is forgiven" };
    format!("{rate}{how}{debt}, each worker")
}

/// What a step does with a tree; what its set and lists are called is said elsewhere.
fn tree(step: &TreeStep) -> Option<String> {
    let mut words = Vec::new();
    if step.dataset != NO_DATASET {
        words.push(format!("list {}", step.dataset));
    }
    if step.states != 0 {
        let states: Vec<String> =
            (0..32).filter(|state| step.states & (1 << state) != 0).map(|state| state.to_string()).collect();
        words.push(format!("in state {}", states.join(" or ")));
    }
    if step.becomes != NO_STATE {
        words.push(format!("then in state {}", step.becomes));
    }
    if step.past_end > 0 {
        words.push(format!("{} reads past the end of each file", step.past_end));
    }
    for (is, said) in
        [(step.unlink, "what is there removed first"), (step.keep_top, "its own directory stays")]
    {
        if is {
            words.push(said.into());
        }
    }
    (!words.is_empty()).then(|| words.join(", "))
}

/// What a recorded load consists of.
pub fn replay(replay: &ReplayPlan) -> Vec<String> {
    let stream = &replay.stream;
    let (read, written) = stream.bytes;
    let counts = Kind::ALL.iter().filter(|kind| stream.count(**kind) > 0).map(|kind| {
        let name = match kind {
            Kind::Sleep => "sleep",
            Kind::NotBefore => "not_before",
            kind => kind.key(),
        };
        format!("{} {name}", stream.count(*kind))
    });
    let counts: Vec<String> = counts.collect();
    let mut parts = vec![
        format!("{} operations: {}", stream.entries.len(), counts.join(", ")),
        format!("{read} bytes read, {written} written"),
    ];
    let ReplayOptions { sync_open, sync_dirs, sync_writes, no_resolve, attributes } = replay.options;
    if replay.pace.is_some() {
        parts.push("at the loop's rate, operation by operation".into());
    }
    for (is, words) in [
        (sync_open, "files opened with O_SYNC"),
        (sync_dirs, "directories made durable"),
        (sync_writes, "files made durable after each write"),
        (no_resolve, "names that are not found are looked for no further"),
        (attributes, "what a server keeps of a file is its attribute"),
    ] {
        if is {
            parts.push(words.into());
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_as_they_are_written() {
        let s = |radix, fill, align, width| Spec { radix, upper: false, fill, align, width };
        let segments = [
            Segment::Number(s(10, b'0', Align::Right, 8)),
            Segment::Literal(b".a{b}".to_vec()),
            Segment::Number(s(16, b'0', Align::Right, 2)),
            Segment::Worker(s(10, b' ', Align::Right, 0)),
            Segment::Clock(s(16, b'~', Align::Left, 16)),
            Segment::Random(24),
            Segment::Digits(4),
        ];
        assert_eq!(name(&segments), "{n:08}.a{{b}}{n:02x}{worker}{clock:~<16x}{random:24}{digits:4}");
    }

    #[test]
    fn open_flags_are_words() {
        assert_eq!(flags(0), "read");
        assert_eq!(
            flags(libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_SYNC),
            "write, create, trunc, sync"
        );
        assert_eq!(flags(libc::O_RDWR | libc::O_APPEND | libc::O_DSYNC), "read and write, append, dsync");
    }

    #[test]
    fn tables_are_summed_up() {
        let many = Table::Lookup { values: (1..=9).map(|n| n * 512).collect(), index: (0..9).collect() };
        assert_eq!(table(&many, format_size), "one of 9 values, 512..4608");
        assert_eq!(
            table(&Table::Hot { share: 3_435_973_837, of: 858_993_459 }, format_size),
            "hot 80% of 20%"
        );
        let few = Table::Lookup { values: vec![4096, 8192, 1], index: vec![0, 0, 1] };
        assert_eq!(table(&few, format_size), "66.67% 4KiB, 33.33% 8KiB, 0% 1");
    }

    #[test]
    fn ends_of_loops_say_whose_they_are() {
        assert_eq!(
            until(Until::Bytes { total: 10 << 20, each: false }),
            "until 10MiB of all workers together"
        );
        assert_eq!(
            until(Until::Steady { windows: 5, within: 20, at_most: 60_000_000_000 }),
            "until steady over 5 s within 2%, at most 1m"
        );
    }
}
