//! The marker file of a run directory: who made it, and whether that run still lives.
//!
//! A process number alone is not enough, as numbers come round: the moment the process started
//! and the boot it belongs to are kept with it. Nothing here opens or removes anything.

use serde::{Deserialize, Serialize};

/// Longest marker file worth reading, in bytes.
pub const LONGEST: u64 = 4096;

/// What the marker file holds, as JSON.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marker {
    /// Always [`Marker::TOOL`].
    pub tool: String,
    /// Version of the program that made it.
    pub version: String,
    /// Number of the process that made it.
    pub pid: u32,
    /// When the process started, in clock ticks after the boot (field 22 of `/proc/PID/stat`);
    /// `None` where there is no `/proc`.
    pub start_ticks: Option<u64>,
    /// `/proc/sys/kernel/random/boot_id`; `None` where there is no `/proc`.
    pub boot_id: Option<String>,
    /// The machine's own name: its file system may be another machine's as well.
    pub host: Option<String>,
}

impl Marker {
    /// The program's name, by which its markers are known.
    pub const TOOL: &str = "ioscore";

    /// The marker of this process.
    pub fn of_this_process() -> Marker {
        Marker {
            tool: Marker::TOOL.to_string(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            pid: std::process::id(),
            start_ticks: start_ticks("self"),
            boot_id: line_of("/proc/sys/kernel/random/boot_id"),
            host: line_of("/proc/sys/kernel/hostname"),
        }
    }

    /// `None` where the text is no marker of this program.
    pub fn parse(text: &str) -> Option<Marker> {
        let marker: Marker = serde_json::from_str(text).ok()?;
        (marker.tool == Marker::TOOL).then_some(marker)
    }

    /// The JSON text, with a line end.
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Whether the process that made the marker may still be running. `shared` says whether
    /// another machine may be using the same file system.
    pub fn may_be_alive(&self, shared: bool) -> bool {
        let boot_id = line_of("/proc/sys/kernel/random/boot_id");
        if boot_id.is_none() || self.boot_id.is_none() {
            return true;
        }
        if boot_id != self.boot_id {
            // Another boot: of this machine, then that run is over, or of another one.
            return shared && line_of("/proc/sys/kernel/hostname") != self.host;
        }
        let started = start_ticks(&self.pid.to_string());
        started.is_some() && (self.start_ticks.is_none() || started == self.start_ticks)
    }
}

fn line_of(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

/// Field 22 of `/proc/PID/stat`. The second field is the program's name in brackets and may
/// hold anything, brackets too: the fields are counted from the last one.
fn start_ticks(pid: &str) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_from_its_text() {
        let marker = Marker::of_this_process();
        assert!(marker.start_ticks.is_some() && marker.boot_id.is_some() && marker.host.is_some());
        assert_eq!(Marker::parse(&marker.to_text()), Some(marker.clone()));
        assert!((marker.to_text().len() as u64) < LONGEST);
        let other = Marker { tool: "something".into(), ..marker };
        assert_eq!(Marker::parse(&other.to_text()), None);
        assert_eq!(Marker::parse(""), None);
        assert_eq!(Marker::parse("{}"), None);
    }

    #[test]
    fn a_process_is_known_by_number_start_and_boot() {
        let own = Marker::of_this_process();
        assert!(own.may_be_alive(false));
        let recycled = Marker { start_ticks: own.start_ticks.map(|ticks| ticks + 1), ..own.clone() };
        assert!(!recycled.may_be_alive(false));
        // Larger than any number Linux gives out.
        let gone = Marker { pid: 1 << 30, ..own.clone() };
        assert!(!gone.may_be_alive(true));
        let boot_id = Some("another".to_string());
        let rebooted = Marker { boot_id: boot_id.clone(), ..own.clone() };
        assert!(!rebooted.may_be_alive(false) && !rebooted.may_be_alive(true));
        let elsewhere = Marker { boot_id, host: Some("another".into()), ..own.clone() };
        assert!(!elsewhere.may_be_alive(false));
        assert!(elsewhere.may_be_alive(true));
        assert!(Marker { boot_id: None, ..own }.may_be_alive(false), "not known means careful");
    }
}
