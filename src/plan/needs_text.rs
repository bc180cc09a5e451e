//! What a plan needs, in lines for people.

use super::needs::{Held, Needs};
use crate::profile::units::{format_duration, format_size};

/// The needs in lines, for people.
pub fn text(needs: &Needs) -> String {
    let mut out = String::new();
    let mut line = |what: &str, text: String| out.push_str(&format!("{what:<12} {text}\n"));
    let held = |held: &Held, show: &dyn Fn(u64) -> String| match held.peak {
        Some(peak) => format!("{} at the start, at most {}", show(held.laid_out), show(peak)),
        None => format!("{} at the start, then as many as the run makes", show(held.laid_out)),
    };
    line("space", held(&needs.bytes, &about));
    line(
        "writes",
        match needs.written {
            Some(bytes) => about(bytes),
            None => "as much as the run manages".into(),
        },
    );
    line("inodes", held(&needs.inodes, &|n| n.to_string()));
    line(
        "descriptors",
        format!("{} a worker, {} together", needs.descriptors_per_worker, needs.descriptors_total),
    );
    line(
        "memory",
        format!("{} a worker, {} together", about(needs.memory.per_worker), about(needs.memory.total)),
    );
    line("threads", needs.threads.to_string());
    line("names", format!("up to {} bytes", needs.largest_name));
    if let Some(g) = &needs.alignment {
        let word = if g.required { "required" } else { "preferred" };
        line("direct I/O", format!("{word}, in multiples of {} ({})", format_size(g.bytes), g.place));
    }
    let time =
        needs.expected_seconds.map(|s| format_duration(((s * 1e3).round() as u64).saturating_mul(1_000_000)));
    line(
        "time",
        match (time, needs.untimed.is_empty()) {
            (Some(time), true) => time,
            (Some(time), false) => format!("{time}, and what {} take", needs.untimed.join(", ")),
            (None, _) => "ends with its work".into(),
        },
    );
    if !needs.root_wanted.is_empty() {
        line("root", format!("for {}", needs.root_wanted.join(", ")));
    }
    out
}

/// A size for reading: three digits of the largest fitting unit.
pub fn about(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if value.fract() == 0.0 || value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {}", units[unit])
}
