//! What is said of a machine and of a target: plain data, stored in every record.
//!
//! Nothing here identifies one machine among others of its kind: no host name, user, serial
//! number, WWN, address or UUID has a field.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A machine. What could not be found out is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct System {
    /// Processor model, as the kernel names it.
    pub processor: Option<String>,
    /// Physical cores.
    pub cores: Option<u32>,
    /// Threads the kernel may run on.
    pub threads: Option<u32>,
    /// Highest frequency of the processor in Hz.
    pub frequency_hz: Option<u64>,
    /// Board or product name with its maker.
    pub board: Option<String>,
    /// Memory the kernel manages, in bytes.
    pub memory_bytes: Option<u64>,
    /// Kernel release, for example `6.18.0`.
    pub kernel: Option<String>,
    /// Hardware name, for example `x86_64`.
    pub architecture: Option<String>,
    /// Distribution with its version.
    pub distribution: Option<String>,
    /// Frequency governor of the first processor.
    pub governor: Option<String>,
    /// The kernel's clock.
    pub clock: Option<Clock>,
    /// Kind of container the tool ran in, for example `docker`.
    pub container: Option<String>,
    /// Kind of virtual machine, for example `kvm`.
    pub virtual_machine: Option<String>,
    /// Cost of one operation that does nothing, in ns: the tool's own overhead.
    pub null_op_ns: Option<f64>,
    /// Version of the SQLite in this program.
    pub sqlite: Option<String>,
    /// What another tool's report says of its machine, in the order of that report.
    pub listed: Vec<Listed>,
}

/// The kernel's clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Clock {
    /// For example `tsc`.
    pub source: String,
    /// Cost of reading it once, in ns.
    pub cost_ns: Option<f64>,
}

/// One line of another tool's description of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Listed {
    /// For example `hardware` or `software`.
    pub group: String,
    /// What the line is about.
    pub key: String,
    /// What it says.
    pub value: String,
}

/// Where a run took place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Target {
    /// The name given to it, or the last component of its path.
    pub name: String,
    /// Path as given.
    pub path: String,
    /// Path with symbolic links resolved.
    pub resolved: Option<String>,
    /// The file system it is on.
    pub file_system: Option<FileSystem>,
    /// From the file system down to the disks: `ext4 -> dm-crypt -> md1 (raid5) -> 3 disks`.
    pub stack: Option<String>,
    /// The disks at the bottom.
    pub devices: Vec<Device>,
    /// Alignment direct I/O needs, in bytes, as probed on a file there.
    pub direct_alignment_bytes: Option<u64>,
    /// Room before the run.
    pub space_before: Option<Space>,
    /// Room after the run.
    pub space_after: Option<Space>,
    /// Properties of the file system beyond its mount options (ZFS data set, btrfs).
    pub properties: BTreeMap<String, String>,
}

/// A mounted file system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FileSystem {
    /// For example `ext4`.
    pub kind: String,
    /// What is mounted, for example `/dev/sda1`.
    pub source: String,
    /// Mount point.
    pub mounted_at: String,
    /// Mount options, those of the mount first.
    pub options: Vec<String>,
}

/// One disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Device {
    /// Kernel name, for example `nvme0n1`.
    pub name: String,
    /// Model as the disk names itself.
    pub model: Option<String>,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// Whether it has turning platters, as the kernel sees it.
    pub rotational: Option<bool>,
    /// The active I/O scheduler.
    pub scheduler: Option<String>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Whether it can discard (TRIM).
    pub discard: Option<bool>,
    /// Smallest block it can address, in bytes.
    pub logical_block_bytes: Option<u64>,
    /// Smallest block it writes without reading first, in bytes.
    pub physical_block_bytes: Option<u64>,
    /// How far the kernel reads ahead, in bytes.
    pub read_ahead_bytes: Option<u64>,
}

/// Room on a file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Space {
    /// Size of the file system in bytes.
    pub total_bytes: u64,
    /// What an ordinary user may still write.
    pub free_bytes: u64,
    /// Inodes there are; absent where the file system makes them as needed.
    pub total_inodes: Option<u64>,
    /// Inodes still free.
    pub free_inodes: Option<u64>,
}

impl Space {
    /// From the numbers of `statfs`: block size in bytes, blocks, bytes available, inodes, free
    /// inodes. No inodes at all means that the file system does not count them.
    pub fn of_statfs(block: u64, blocks: u64, available: u64, files: u64, files_free: u64) -> Space {
        Space {
            total_bytes: block.saturating_mul(blocks),
            free_bytes: available,
            total_inodes: (files > 0).then_some(files),
            free_inodes: (files > 0).then_some(files_free),
        }
    }
}
