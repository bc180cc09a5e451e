//! What lies under a file system: device mapper, RAID, loop devices, partitions, disks.
//!
//! Walks `/sys/dev/block`. Names of the kernel and kinds of layers are told; names that people
//! give (volume groups, mappings), serial numbers and UUIDs are not.

use std::path::{Path, PathBuf};

use super::files::{Root, names, number, text};
use super::model::Device;
use super::mounts::{self, Mount};

/// Layers deeper than this are a mistake of ours or of the machine.
const DEEPEST: usize = 16;

/// A file system's layers as text and the disks at the bottom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stack {
    /// The layers, the file system first.
    pub text: String,
    /// The disks at the bottom.
    pub devices: Vec<Device>,
}

/// The layers under one mount, the file system first.
pub fn under(root: &Root, mounts: &[Mount], mount: &Mount) -> Stack {
    let mut walk = Walk { root, mounts, disks: Vec::new() };
    let mut layers = vec![mount.kind.clone()];
    layers.extend(walk.below_mount(mount, 0));
    let devices = walk.disks.iter().map(|disk| device(disk)).collect();
    Stack { text: layers.join(" -> "), devices }
}

struct Walk<'a> {
    root: &'a Root,
    mounts: &'a [Mount],
    /// Directories of the disks met, each once.
    disks: Vec<PathBuf>,
}

impl Walk<'_> {
    fn below_mount(&mut self, mount: &Mount, depth: usize) -> Vec<String> {
        let members = self.block_devices(mount);
        if members.is_empty() && mount.kind == "overlay" {
            // The layer that is written to decides.
            let upper = mount.options.iter().find_map(|option| option.strip_prefix("upperdir="));
            return upper.map_or(Vec::new(), |path| self.file_system_of(Path::new(path), depth));
        }
        self.level(&members, depth)
    }

    /// The file system that holds a file, and what is below it.
    fn file_system_of(&mut self, path: &Path, depth: usize) -> Vec<String> {
        if depth > DEEPEST {
            return Vec::new();
        }
        let Some(mount) = mounts::of(self.mounts, path) else { return Vec::new() };
        let mut layers = vec![mount.kind.clone()];
        layers.extend(self.below_mount(mount, depth + 1));
        layers
    }

    /// Directories in `/sys` of the devices a file system lies on.
    fn block_devices(&self, mount: &Mount) -> Vec<PathBuf> {
        if !mount.device.starts_with("0:") {
            return self.directory(&format!("/sys/dev/block/{}", mount.device)).into_iter().collect();
        }
        // btrfs and some others number themselves; their source still names a device.
        let Some(name) = self.kernel_name(&mount.source) else { return Vec::new() };
        if mount.kind == "btrfs" {
            for pool in names(&self.root.path("/sys/fs/btrfs")) {
                let members = names(&self.root.path(format!("/sys/fs/btrfs/{pool}/devices")));
                if members.contains(&name) {
                    return members
                        .iter()
                        .filter_map(|member| self.directory(&format!("/sys/class/block/{member}")))
                        .collect();
                }
            }
        }
        self.directory(&format!("/sys/class/block/{name}")).into_iter().collect()
    }

    fn directory(&self, path: &str) -> Option<PathBuf> {
        self.root.path(path).canonicalize().ok()
    }

    /// `sda1` of `/dev/sda1`, `dm-0` of `/dev/mapper/x`, which is a link to it.
    fn kernel_name(&self, source: &str) -> Option<String> {
        let inside = source.strip_prefix("/dev/")?;
        let path = self.root.path(source);
        let target = std::fs::read_link(path).unwrap_or_else(|_| PathBuf::from(inside));
        target.file_name().map(|name| name.to_string_lossy().into_owned())
    }

    /// Several devices side by side: named if one, counted if all are disks, else the first one's
    /// layers stand for all.
    fn level(&mut self, devices: &[PathBuf], depth: usize) -> Vec<String> {
        if depth > DEEPEST {
            return Vec::new();
        }
        let before = self.disks.len();
        let described: Vec<Vec<String>> = devices.iter().map(|device| self.device(device, depth)).collect();
        match described.as_slice() {
            [] => Vec::new(),
            [one] => one.clone(),
            many if many.iter().all(|layers| layers.len() == 1) => vec![format!("{} disks", many.len())],
            many => {
                let kinds: Vec<Vec<String>> = many.iter().map(|layers| kinds(layers)).collect();
                let (n, disks) = (many.len(), self.disks.len() - before);
                let mut layers =
                    match kinds.iter().all(|kind| *kind == kinds[0]).then(|| kinds[0].split_first()) {
                        Some(Some((top, below))) => [&[format!("{n} x {top}")], below].concat(),
                        _ => vec![format!("{n} devices")],
                    };
                layers.push(if disks == 1 { "1 disk".into() } else { format!("{disks} disks") });
                layers
            }
        }
    }

    /// One device and what is below it.
    fn device(&mut self, dir: &Path, depth: usize) -> Vec<String> {
        let name = dir.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if dir.join("partition").exists()
            && let Some(disk) = dir.parent()
        {
            return self.device(disk, depth + 1);
        }
        if let Some(file) = text(&dir.join("loop/backing_file")) {
            let mut layers = vec![name];
            layers.extend(self.file_system_of(Path::new(&file), depth + 1));
            return layers;
        }
        let members: Vec<PathBuf> = names(&dir.join("slaves"))
            .iter()
            .filter_map(|member| dir.join("slaves").join(member).canonicalize().ok())
            .collect();
        if !members.is_empty() {
            let mut layers = vec![layer(dir, &name)];
            layers.extend(self.level(&members, depth + 1));
            return layers;
        }
        if !self.disks.iter().any(|disk| disk == dir) {
            self.disks.push(dir.to_path_buf());
        }
        vec![if name.starts_with("zram") || name.starts_with("ram") {
            format!("{name} (memory)")
        } else {
            name
        }]
    }
}

/// `dm-crypt`, `lvm`, `md1 (raid5)`, or the kernel's name.
fn layer(dir: &Path, name: &str) -> String {
    if let Some(uuid) = text(&dir.join("dm/uuid")) {
        // The prefix tells who made the mapping.
        let kinds = [("CRYPT-", "dm-crypt"), ("LVM-", "lvm"), ("mpath-", "multipath"), ("VDO-", "vdo")];
        let kind = kinds.iter().find(|(prefix, _)| uuid.starts_with(prefix));
        return kind.map_or("device mapper", |(_, kind)| kind).to_string();
    }
    match text(&dir.join("md/level")) {
        Some(level) => format!("{name} ({level})"),
        None => name.to_string(),
    }
}

/// The layers above a disk without what tells one of several from the others: `md` devices keep
/// their level only.
fn kinds(layers: &[String]) -> Vec<String> {
    let above = layers.len().saturating_sub(1);
    let kind = |layer: &String| match layer.split_once(" (") {
        Some((_, level)) => level.trim_end_matches(')').to_string(),
        None => layer.clone(),
    };
    layers[..above].iter().map(kind).collect()
}

/// What `/sys` says of one disk.
pub fn device(dir: &Path) -> Device {
    let queue = |name: &str| dir.join("queue").join(name);
    Device {
        name: dir.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default(),
        model: text(&dir.join("device/model")).map(|m| m.split_whitespace().collect::<Vec<_>>().join(" ")),
        // The kernel counts in sectors of 512 bytes whatever the device's own are.
        size_bytes: number(&dir.join("size")).map(|sectors| sectors.saturating_mul(512)),
        rotational: number(&queue("rotational")).map(|flag| flag == 1),
        scheduler: text(&queue("scheduler")).map(|all| chosen(&all)),
        write_cache: text(&queue("write_cache")),
        discard: number(&queue("discard_max_bytes")).map(|bytes| bytes > 0),
        logical_block_bytes: number(&queue("logical_block_size")),
        physical_block_bytes: number(&queue("physical_block_size")),
        read_ahead_bytes: number(&queue("read_ahead_kb")).map(|kib| kib.saturating_mul(1024)),
    }
}

/// `mq-deadline` of `none [mq-deadline] kyber`.
fn chosen(all: &str) -> String {
    let inside = all.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(all, |(name, _)| name).to_string()
}
