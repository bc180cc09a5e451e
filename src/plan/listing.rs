//! A plan as text: everything that will happen, readable, the same for the same plan, and what
//! the machine decides all the same.
//!
//! Knows what instructions mean; nothing here changes or judges a plan.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::instr::*;
use super::words;
use crate::ops::data::WHOLE_BLOCK;
use crate::ops::row::{Object, Row};
use crate::profile::units::{format_duration, format_size};

/// The whole listing.
pub fn listing(plan: &Plan) -> String {
    let rows: Vec<&Row> = crate::ops::rows().collect();
    let mut l = Listing { plan, rows, out: String::new() };
    l.header();
    plan.sets.iter().for_each(|set| l.set(set));
    l.line("");
    l.line("schedule");
    l.schedule(&plan.schedule, 1);
    plan.phases.iter().for_each(|phase| l.phase(phase));
    l.left_to_the_machine();
    l.out
}

struct Listing<'a> {
    plan: &'a Plan,
    rows: Vec<&'static Row>,
    out: String,
}

impl Listing<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{text}");
    }

    fn name(&self, id: NameId) -> String {
        self.plan.names.get(usize::from(id)).map_or_else(|| "?".into(), |n| words::name(n))
    }

    fn set_name(&self, id: SetId) -> &str {
        self.plan.sets.get(usize::from(id)).map_or("?", |set| &set.name)
    }

    fn size(&self, draw: Draw) -> String {
        words::draw(draw, &self.plan.tables, format_size)
    }

    fn header(&mut self) {
        let seed = match self.plan.random.seed {
            Some(seed) => format!("seed {seed}"),
            None => "seed of the run".into(),
        };
        let generator = match self.plan.random.generator {
            Generator::ChaCha8 => "ChaCha8, one stream a purpose and worker".to_string(),
            Generator::Mt19937 { burn } => {
                format!("MT19937, one stream in program order, {burn} draws thrown away")
            }
        };
        self.line(&format!("workers   {}", self.plan.workers));
        for (index, engine) in self.plan.engines.iter().enumerate() {
            let EnginePlan { name, depth, direct, fallback } = engine;
            let direct = match direct {
                Direct::Require => "direct I/O required",
                Direct::Prefer => "direct I/O preferred",
                Direct::Never => "through the page cache",
            };
            let number = if index == 0 { String::new() } else { format!(" {index}") };
            let or = match fallback.is_empty() {
                true => String::new(),
                false => format!(", else {}", fallback.join(", ")),
            };
            self.line(&format!("{:<9} {name}{or}, depth {depth}, {direct}", format!("engine{number}")));
        }
        self.line(&format!("random    {generator}, {seed}"));
        self.line(&format!("transfers up to {}", format_size(self.plan.largest_block)));
    }

    fn set(&mut self, set: &SetPlan) {
        let whose = match (set.per_worker, set.memory) {
            (_, true) => "in memory, one for each worker",
            (true, _) => "a pool for each worker",
            (false, _) if self.plan.workers > 1 => "shared, one lock",
            (false, _) => "one pool",
        };
        self.line("");
        self.line(&format!("set {} ({whose})", set.name));
        let users: Vec<String> = set.used_by.iter().map(|r| workers(*r)).collect();
        if set.used_by != [(0, self.plan.workers)] {
            let users = if users.is_empty() { "nobody".into() } else { users.join(", ") };
            self.line(&format!("  used by   {users}"));
        }
        let room = match set.slots {
            Some(slots) => format!("room for {slots}"),
            None => "room for any number".into(),
        };
        let insert = match set.insert {
            Insert::Next => "",
            Insert::LowestFree => ", new ones in the lowest free slot",
            Insert::BumpThenLowestFree => ", new ones after the last slot used, then in the lowest free one",
        };
        let age = if set.by_age { ", ordered by age" } else { "" };
        self.line(&format!("  files     {} at the start, {room}{insert}{age}", set.count));
        let most = set.max_size.map(|n| format!(", at most {}", format_size(n))).unwrap_or_default();
        self.line(&format!("  size      {}{most}", self.size(set.size)));
        if set.count > 0 {
            let how = match set.layout {
                _ if set.memory => format!("filled with {}", words::data(set.data)),
                Layout::Written => format!("written, {}", words::data(set.data)),
                Layout::Fallocated => {
                    format!("allocated, or written where that is not possible, {}", words::data(set.data))
                }
                Layout::None => "sized but not written: holes".into(),
            };
            self.line(&format!("  layout    {how}"));
        }
        if set.memory {
            return;
        }
        let mut path: Vec<String> = set.dir.iter().map(|part| self.name(*part)).collect();
        if let Some(dirs) = &set.dirs {
            path.push(self.name(dirs.name));
        }
        path.push(self.name(set.file_name));
        self.line(&format!("  named     {}", path.join("/")));
        if let Some(dirs) = &set.dirs {
            let rotate = match dirs.rotate {
                Rotate::Time(span) => format!("another every {}", format_duration(span)),
                Rotate::Files(n) => format!("another every {n} files"),
                Rotate::Random => "a random one for every file".into(),
            };
            self.line(&format!("  subdirs   {}, {rotate}", dirs.count));
        }
        let made = match (set.dir_ahead, set.subdirs_ahead || set.dirs.is_none()) {
            (true, true) => "made ahead",
            (true, false) => "made ahead, subdirectories by steps",
            (false, true) if set.dirs.is_some() => "made by a step, subdirectories ahead",
            (false, _) => "made by a step",
        };
        self.line(&format!("  directory {made}, {:04o}", set.dir_permissions));
        let id = self.plan.sets.iter().position(|other| std::ptr::eq(other, set));
        if self.plan.sql.databases.iter().any(|db| Some(usize::from(*db)) == id) {
            let pragmas = &self.plan.sql.pragmas;
            let pragmas: Vec<String> =
                pragmas.iter().map(|(name, value)| format!(", {name} {value}")).collect();
            self.line(&format!("  databases opened by SQLite{}", pragmas.concat()));
        }
        if let Some(flags) = set.kept_open {
            self.line(&format!("  kept open {}", words::flags(flags)));
        }
        let guards = [("empty", set.empty), ("full", set.full), ("no room", set.no_room)];
        let guards: Vec<String> =
            guards.iter().map(|(what, g)| format!("{what}: {}", words::guard(*g))).collect();
        self.line(&format!("  guards    {}", guards.join(", ")));
    }

    fn schedule(&mut self, schedule: &[Schedule], depth: usize) {
        for entry in schedule {
            let indent = "  ".repeat(depth);
            match entry {
                Schedule::Phase(id) => {
                    let name = self.plan.phases.get(usize::from(*id)).map_or("?", |p| &p.name);
                    let text = format!("{indent}phase {name}");
                    self.line(&text);
                }
                Schedule::Loop { until, body } => {
                    self.line(&format!("{indent}{}", words::until(*until)));
                    self.schedule(body, depth + 1);
                }
            }
        }
    }

    fn phase(&mut self, phase: &PhasePlan) {
        let measured = if phase.measured { "" } else { ", not measured" };
        self.line("");
        self.line(&format!("phase {}{measured}", phase.name));
        for group in &phase.groups {
            let name = if group.name.is_empty() { String::new() } else { format!("group {}, ", group.name) };
            let ends = if group.ends_phase { ", ends the phase" } else { "" };
            let measured = if group.measured { "" } else { ", not measured" };
            self.line(&format!("  {name}{}{ends}{measured}", workers(group.workers)));
            self.program(phase, &group.code);
        }
    }

    fn program(&mut self, phase: &PhasePlan, code: &[Instr]) {
        let labels = self.labels(code);
        let label = |pc: Pc| labels.get(&pc).map_or_else(|| format!("@{pc}"), |n| format!("L{n}"));
        let mut depth = 0usize;
        for (pc, instr) in code.iter().enumerate() {
            if matches!(instr, Instr::LoopEnd { .. } | Instr::EachNext { .. } | Instr::BlockEnd { .. }) {
                depth = depth.saturating_sub(1);
            }
            let text = self.instruction(phase, *instr, &label);
            let own = labels.get(&(pc as Pc)).map(|n| format!("L{n}")).unwrap_or_default();
            let indent = "  ".repeat(depth);
            self.line(&format!("    {own:<5}{pc:>4}  {indent}{text}"));
            if matches!(instr, Instr::LoopStart { .. } | Instr::EachStart { .. } | Instr::BlockStart { .. }) {
                depth += 1;
            }
        }
    }

    /// Numbers of the instructions that others lead to.
    fn labels(&self, code: &[Instr]) -> BTreeMap<Pc, usize> {
        let mut targets = BTreeMap::new();
        for instr in code {
            let target = match *instr {
                Instr::Jump(to) => Some(to),
                Instr::LoopStart { exit, .. } | Instr::EachStart { exit, .. } => Some(exit),
                Instr::LoopNext { head, .. } | Instr::EachNext { head, .. } => Some(head),
                Instr::Op { op, args } => self.args(args).filter(|a| self.skips(op, a)).map(|a| a.skip_to),
                Instr::Mix { id } => {
                    let mix = self.plan.mixes.get(usize::from(id));
                    targets.extend(mix.iter().flat_map(|m| &m.targets).map(|t| (*t, 0)));
                    None
                }
                _ => None,
            };
            targets.extend(target.map(|t| (t, 0)));
        }
        targets.values_mut().zip(1..).for_each(|(number, n)| *number = n);
        targets
    }

    fn args(&self, index: u32) -> Option<&Args> {
        self.plan.args.get(index as usize)
    }

    /// Whether a guard may lead the operation out of its block.
    fn skips(&self, op: u16, args: &Args) -> bool {
        let Some(set) = self.plan.sets.get(usize::from(args.set)) else { return false };
        let Some(row) = self.rows.get(usize::from(op)) else { return false };
        let takes =
            matches!(row.object, Object::Set | Object::Amount) && !row.needs_open || args.pick != Pick::Same;
        let skip = |guard: Guard| guard == Guard::Skip;
        match row.verb.name {
            _ if args.name != NO_NAME => false,
            "create" => skip(set.full),
            "link" => skip(set.full) || skip(set.empty),
            "open" => skip(set.empty) || args.opening.flags & libc::O_APPEND != 0 && skip(set.no_room),
            "mkdir" | "rmdir" | "list" | "remove_all" | "fsync_dir" | "readlink" => false,
            _ => takes && args.detail != Detail::OpenFile && skip(set.empty),
        }
    }

    fn instruction(&self, phase: &PhasePlan, instr: Instr, label: &dyn Fn(Pc) -> String) -> String {
        match instr {
            Instr::Op { op, args } => match (self.rows.get(usize::from(op)), self.args(args)) {
                (Some(row), Some(args)) => {
                    let mut text = self.operation(row, args);
                    if self.skips(op, args) {
                        let _ = write!(text, ", else skip to {}", label(args.skip_to));
                    }
                    text + &self.counted(phase, args)
                }
                _ => format!("operation {op} ?"),
            },
            Instr::Jump(to) => format!("go to {}", label(to)),
            Instr::LoopStart { id, exit } => match self.plan.loops.get(usize::from(id)) {
                Some(lp) => {
                    let ramp = if lp.ramp > 0 {
                        format!(" ramp {}", format_duration(lp.ramp))
                    } else {
                        String::new()
                    };
                    let own = if lp.phase { ", the phase's own loop" } else { "" };
                    format!("{}{ramp}, then {}{own}", words::until(lp.until), label(exit))
                }
                None => "loop ?".into(),
            },
            Instr::LoopNext { head, .. } => format!("again from {}", label(head)),
            Instr::LoopEnd { .. } => "end of loop".into(),
            Instr::Mix { id } => self.mix(phase, id, label),
            Instr::BlockStart { .. } => "block".into(),
            Instr::BlockEnd { stat, .. } => format!("end of block{}", self.stat(phase, stat)),
            Instr::EachStart { id, exit } => match self.plan.eaches.get(usize::from(id)) {
                Some(each) => {
                    let limit = if each.limit == u64::MAX {
                        String::new()
                    } else {
                        format!(", at most {}", each.limit)
                    };
                    let (set, order) = (self.set_name(each.set), words::order(each.order));
                    format!("each {set} {order}{limit}, by {}", label(exit))
                }
                None => "each ?".into(),
            },
            Instr::EachNext { head, .. } => format!("the next one from {}", label(head)),
            Instr::Pace { id } => {
                let pace = self.plan.paces.get(usize::from(id)).map(words::pace).unwrap_or_default();
                format!("pace {pace}")
            }
            Instr::End => "end".into(),
        }
    }

    fn mix(&self, phase: &PhasePlan, id: u16, label: &dyn Fn(Pc) -> String) -> String {
        let Some(mix) = self.plan.mixes.get(usize::from(id)) else { return "mix ?".into() };
        let mut drawn = vec![0u32; mix.targets.len()];
        for alternative in &mix.table {
            if let Some(n) = drawn.get_mut(usize::from(*alternative)) {
                *n += 1;
            }
        }
        let shares = mix.targets.iter().zip(drawn).map(|(target, n)| {
            let share = f64::from(n) / mix.table.len().max(1) as f64 * 100.0;
            format!("{}% {}", (share * 100.0).round() / 100.0, label(*target))
        });
        let how = if mix.exact { format!("decks of {}", mix.table.len()) } else { "mix".into() };
        format!("{how}: {}{}", shares.collect::<Vec<_>>().join(", "), self.stat(phase, mix.decks))
    }

    /// An operation's verb and operands.
    fn operation(&self, row: &Row, args: &Args) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut head = row.verb.name.to_string();
        let add = |head: &mut String, text: &str| {
            if !text.is_empty() {
                head.push(' ');
                head.push_str(text);
            }
        };
        let in_set =
            if args.set == NO_SET { String::new() } else { format!("in {}", self.set_name(args.set)) };
        let pick = words::pick(args.pick, &self.plan.tables);
        match row.object {
            Object::Set => {
                add(&mut head, if args.set == NO_SET { "" } else { self.set_name(args.set) });
                add(&mut head, &pick);
            }
            Object::Amount => {
                add(&mut head, &self.amount(args));
                add(&mut head, &in_set);
                add(&mut head, &pick);
                let place = words::at(args.at, self.plan);
                if row.verb.name != "append" {
                    add(&mut head, &format!("at {place}"));
                }
                if row.verb.name != "read" {
                    parts.push(words::data(args.data));
                } else if args.verify {
                    parts.push(format!("verified as {}", words::data(args.data)));
                }
                match args.remainder {
                    Remainder::IfAny => {}
                    Remainder::Always => parts.push("a remainder always".into()),
                    Remainder::IfAlone => parts.push("a remainder if alone".into()),
                }
            }
            Object::Value => {
                add(&mut head, &self.size(args.value));
                add(&mut head, &in_set);
                if args.at != At::Next {
                    add(&mut head, &format!("at {}", words::at(args.at, self.plan)));
                }
            }
            Object::Pause => add(&mut head, &words::draw(args.value, &self.plan.tables, format_duration)),
            Object::Sql | Object::SqlFile => {
                add(&mut head, &in_set);
                parts.push(words::script(args, self.plan));
            }
            Object::Replay => {
                add(&mut head, &in_set);
                if let Detail::Replay(id) = args.detail
                    && let Some(replay) = self.plan.replays.get(usize::from(id))
                {
                    parts.extend(words::replay(replay));
                }
            }
            Object::Word(_) | Object::Name | Object::None => add(&mut head, &in_set),
        }
        if args.other != NO_SET {
            add(&mut head, &format!("from {}", self.set_name(args.other)));
        }
        if args.name != NO_NAME {
            add(&mut head, &format!("name {}", self.name(args.name)));
        }
        if matches!(row.object, Object::Name) && args.value != Draw::Const(0) {
            parts.push(self.size(args.value));
        }
        if let Some(word) = words::detail(args.detail) {
            add(&mut head, &word);
        }
        let database = self.plan.sql.databases.contains(&args.set);
        if row.opens && !database {
            parts.push(words::flags(args.opening.flags));
        }
        if args.opening.permissions != 0 && !database {
            parts.push(format!("{:04o}", args.opening.permissions));
        }
        if args.opening.stdio {
            parts.push("buffered".into());
        }
        match args.opening.parents {
            Parents::Ahead => {}
            Parents::Missing => parts.push("parents when missing".into()),
            Parents::Always => parts.push("parents always".into()),
        }
        if let Some(limit) = args.limit {
            parts.push(match args.detail {
                Detail::Advice(_) => format!("of the last {}", format_size(limit)),
                _ => format!("at most {limit}"),
            });
        }
        if args.every > 1 {
            parts.push(format!("only every {}th time", args.every));
        }
        if !args.expect.is_empty() {
            parts.push(format!("expects {}", args.expect.iter().map(errno).collect::<Vec<_>>().join(", ")));
        }
        if let Some(error) = &args.must_fail {
            parts.push(format!("must fail with {}", errno(error)));
        }
        std::iter::once(head).chain(parts).collect::<Vec<_>>().join(", ")
    }

    /// How much a data step moves, in what blocks.
    fn amount(&self, args: &Args) -> String {
        match (args.amount, args.block) {
            (Amount::Whole, None) => format!("the whole file in blocks of {}", format_size(WHOLE_BLOCK)),
            (Amount::Whole, Some(block)) => format!("the whole file in blocks of {}", self.size(block)),
            (Amount::Bytes(amount), None) => self.size(amount),
            (Amount::Bytes(Draw::Const(n)), Some(Draw::Const(block)))
                if block > 0 && n.is_multiple_of(block) =>
            {
                format!("{} x {} of {}", format_size(block), n / block, format_size(n))
            }
            (Amount::Bytes(amount), Some(block)) => {
                format!("{} in blocks of {}", self.size(amount), self.size(block))
            }
        }
    }

    fn counted(&self, phase: &PhasePlan, args: &Args) -> String {
        let whole = match args.step_stat {
            NO_STAT => String::new(),
            stat => format!("{} as a whole", self.stat(phase, stat)),
        };
        self.stat(phase, args.stat) + &whole
    }

    /// Where something is counted: ` -> phase.group.key`.
    fn stat(&self, phase: &PhasePlan, stat: StatId) -> String {
        match phase.stats.get(usize::from(stat)) {
            Some(s) => {
                let group = if s.group.is_empty() { String::new() } else { format!("{}.", s.group) };
                let measured = if s.measured { "" } else { " (not measured)" };
                format!(" -> {}.{group}{}{measured}", phase.name, s.key)
            }
            None => String::new(),
        }
    }

    /// What the same seed does not fix.
    fn left_to_the_machine(&mut self) {
        let mut left: Vec<String> = Vec::new();
        let mut note = |text: String| {
            if !left.contains(&text) {
                left.push(text);
            }
        };
        let plan = self.plan;
        for set in plan.sets.iter().filter(|s| !s.per_worker && !s.memory && plan.workers > 1) {
            note(format!("whose turn it is at the shared set {}", set.name));
        }
        for set in &plan.sets {
            if let Some(Rotate::Time(_)) = set.dirs.as_ref().map(|d| d.rotate) {
                note(format!("which files of {} go to which directory: it changes with time", set.name));
            }
            let clock = |s: &Segment| matches!(s, Segment::Clock(_));
            if plan.names.get(usize::from(set.file_name)).is_some_and(|n| n.iter().any(clock)) {
                note(format!("names of {}: they hold the time", set.name));
            }
        }
        for phase in &plan.phases {
            let name = &phase.name;
            if phase.groups.iter().any(|g| g.ends_phase) && phase.groups.len() > 1 {
                note(format!("how far the other groups of {name} come before it ends"));
            }
            for instr in phase.groups.iter().flat_map(|g| &g.code) {
                match *instr {
                    Instr::LoopStart { id, .. } => match plan.loops.get(usize::from(id)).map(|lp| lp.until) {
                        Some(Until::Time(span)) => {
                            note(format!("how many operations {} of {name} hold", format_duration(span)));
                        }
                        Some(Until::Steady { .. }) => note(format!("when {name} is steady")),
                        Some(until @ (Until::Ops { each: false, .. } | Until::Bytes { each: false, .. }))
                            if plan.workers > 1 =>
                        {
                            note(format!("which worker of {name} does how much: {}", words::until(until)));
                        }
                        _ => {}
                    },
                    Instr::Op { op, args } => {
                        let verb = self.rows.get(usize::from(op)).map_or("", |row| row.verb.name);
                        let Some(args) = plan.args.get(args as usize) else { continue };
                        if verb == "list" {
                            note(format!("the order in which list reads directories in {name}"));
                        }
                        if args.opening.stdio {
                            note(format!("the block of buffered files in {name}: the file system names it"));
                        }
                    }
                    _ => {}
                }
            }
        }
        if let Some(depth) = plan.engines.iter().map(|engine| engine.depth).max().filter(|depth| *depth > 1) {
            note(format!("the order in which {depth} transfers in flight end"));
        }
        self.line("");
        self.line("left to the machine");
        if left.is_empty() {
            self.line("  nothing");
        }
        left.iter().for_each(|text| self.line(&format!("  {text}")));
    }
}

fn errno(error: &crate::os::Errno) -> String {
    crate::os::errno::name(*error).map_or_else(|| format!("errno {}", error.0), str::to_string)
}

fn workers((first, end): (u32, u32)) -> String {
    match end.saturating_sub(first) {
        0 => "no worker".into(),
        1 => format!("worker {first}"),
        _ => format!("workers {first} to {}", end - 1),
    }
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;
