//! What is seen of a target directory before anything is written there.
//!
//! Free space and alignment need system calls; the caller makes them and fills the fields in.

use std::collections::BTreeMap;
use std::path::Path;

use super::files::Root;
use super::model::{FileSystem, Target};
use super::{mounts, stack};

/// Describes the target at `path`, given as `name` (or named after its last component). The path
/// is looked up under `root`, where outside tests the machine itself is.
pub fn describe(root: &Root, name: Option<&str>, path: &Path) -> Target {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let resolved = root.path(&absolute).canonicalize().ok().map(|full| root.inside(&full));
    let place = resolved.as_deref().unwrap_or(&absolute);
    let mounts = mounts::all(root);
    let mount = mounts::of(&mounts, place);
    let stack = mount.map(|mount| stack::under(root, &mounts, mount));
    let last = place.file_name().map(|last| last.to_string_lossy().into_owned());
    Target {
        name: name.map(str::to_string).or(last).unwrap_or_else(|| place.display().to_string()),
        path: path.display().to_string(),
        resolved: resolved.as_ref().map(|path| path.display().to_string()),
        file_system: mount.map(|mount| FileSystem {
            kind: mount.kind.clone(),
            source: mount.source.clone(),
            mounted_at: mount.point.display().to_string(),
            options: mount.options.clone(),
        }),
        properties: mount.map(|m| properties(&m.kind, &m.options)).unwrap_or_default(),
        devices: stack.as_ref().map(|stack| stack.devices.clone()).unwrap_or_default(),
        stack: stack.map(|stack| stack.text),
        ..Target::default()
    }
}

/// The options that change what is measured, by the name of the property. Those of a ZFS data
/// set are in no file; whoever may run `zfs get` adds them.
fn properties(kind: &str, options: &[String]) -> BTreeMap<String, String> {
    let mut properties = BTreeMap::new();
    if kind != "btrfs" {
        return properties;
    }
    for option in options {
        let (name, value) = option.split_once('=').unwrap_or((option, "yes"));
        let name = match name {
            "compress" | "compress-force" => "compression",
            "nodatacow" | "nodatasum" | "autodefrag" | "flushoncommit" | "commit" | "space_cache" => name,
            "discard" | "ssd" | "nossd" | "max_inline" | "thread_pool" | "notreelog" => name,
            _ => continue,
        };
        properties.insert(name.to_string(), value.to_string());
    }
    properties
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fixture::Fixture;

    /// A disk with what `/sys` holds, secrets included.
    fn disk(machine: Fixture, name: &str, number: &str) -> Fixture {
        let dir = format!("/sys/devices/pci/block/{name}");
        machine
            .file(&format!("{dir}/size"), "1000\n")
            .file(&format!("{dir}/device/model"), "WDC  WD40EFRX-68W \n")
            .file(&format!("{dir}/device/serial"), "S1-SERIAL\n")
            .file(&format!("{dir}/device/wwid"), "naa.50014ee2b5d1c1d1\n")
            .file(&format!("{dir}/queue/rotational"), "1\n")
            .file(&format!("{dir}/queue/scheduler"), "none [mq-deadline] kyber\n")
            .file(&format!("{dir}/queue/write_cache"), "write back\n")
            .file(&format!("{dir}/queue/discard_max_bytes"), "0\n")
            .file(&format!("{dir}/queue/logical_block_size"), "512\n")
            .file(&format!("{dir}/queue/physical_block_size"), "4096\n")
            .link(&format!("/sys/dev/block/{number}"), &format!("../../devices/pci/block/{name}"))
            .link(&format!("/sys/class/block/{name}"), &format!("../../devices/pci/block/{name}"))
    }

    fn partition(machine: Fixture, disk: &str, name: &str, number: &str) -> Fixture {
        let dir = format!("devices/pci/block/{disk}/{name}");
        machine
            .file(&format!("/sys/{dir}/partition"), "1\n")
            .link(&format!("/sys/dev/block/{number}"), &format!("../../{dir}"))
            .link(&format!("/sys/class/block/{name}"), &format!("../../{dir}"))
    }

    /// A device made of others, each given by its directory under `/sys/devices`.
    fn layered(machine: Fixture, name: &str, number: &str, members: &[&str]) -> Fixture {
        let dir = format!("/sys/devices/virtual/block/{name}");
        let machine = machine
            .dir(&format!("{dir}/slaves"))
            .link(&format!("/sys/dev/block/{number}"), &format!("../../devices/virtual/block/{name}"))
            .link(&format!("/sys/class/block/{name}"), &format!("../../devices/virtual/block/{name}"));
        members.iter().fold(machine, |machine, member| {
            let last = member.rsplit('/').next().expect("a name");
            machine.link(&format!("{dir}/slaves/{last}"), &format!("../../../../{member}"))
        })
    }

    fn mounted(machine: Fixture, lines: &str) -> Fixture {
        machine.file("/proc/self/mountinfo", lines)
    }

    fn three_disks() -> Fixture {
        ["sda", "sdb", "sdc"]
            .iter()
            .enumerate()
            .fold(Fixture::new(), |machine, (i, name)| disk(machine, name, &format!("8:{}", i * 16)))
    }

    #[test]
    fn a_partition_of_a_disk() {
        let machine = partition(disk(Fixture::new(), "sda", "8:0"), "sda", "sda1", "8:1").dir("/data/x");
        let machine = mounted(machine, "22 1 8:1 / /data rw,noatime - ext4 /dev/sda1 rw,stripe=4\n")
            .link("/short", "data/x");
        let target = describe(&machine.root(), None, Path::new("/short"));
        assert_eq!((target.name.as_str(), target.path.as_str()), ("x", "/short"));
        assert_eq!(target.resolved.as_deref(), Some("/data/x"));
        assert_eq!(target.stack.as_deref(), Some("ext4 -> sda"));
        let file_system = target.file_system.as_ref().unwrap();
        assert_eq!(file_system.options, ["rw", "noatime", "stripe=4"]);
        let [disk] = target.devices.as_slice() else { panic!("one disk, not {:?}", target.devices) };
        assert_eq!(disk.model.as_deref(), Some("WDC WD40EFRX-68W"));
        assert_eq!(
            (disk.size_bytes, disk.rotational, disk.discard),
            (Some(512_000), Some(true), Some(false))
        );
        assert_eq!(disk.scheduler.as_deref(), Some("mq-deadline"));
        assert_eq!(disk.write_cache.as_deref(), Some("write back"));
        assert_eq!((disk.logical_block_bytes, disk.physical_block_bytes), (Some(512), Some(4096)));
        let stored = serde_json::to_string(&target).unwrap();
        for secret in ["SERIAL", "50014ee2b5d1c1d1"] {
            assert!(!stored.contains(secret), "{secret} is stored");
        }
    }

    #[test]
    fn encryption_on_raid_on_partitions() {
        let machine = partition(three_disks(), "sdb", "sdb1", "8:17");
        let machine =
            layered(machine, "md1", "9:1", &["pci/block/sda", "pci/block/sdb/sdb1", "pci/block/sdc"])
                .file("/sys/devices/virtual/block/md1/md/level", "raid5\n");
        let machine = layered(machine, "dm-0", "253:0", &["virtual/block/md1"])
            .file(
                "/sys/devices/virtual/block/dm-0/dm/uuid",
                "CRYPT-LUKS2-00112233445566778899aabbccddeeff-home\n",
            )
            .file("/sys/devices/virtual/block/dm-0/dm/name", "bobs-vault\n");
        let machine = mounted(machine, "22 1 253:0 / / rw - ext4 /dev/mapper/x rw\n");
        let target = describe(&machine.root(), Some("vault"), Path::new("/"));
        assert_eq!(target.stack.as_deref(), Some("ext4 -> dm-crypt -> md1 (raid5) -> 3 disks"));
        assert_eq!(target.devices.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["sda", "sdb", "sdc"]);
        let stored = serde_json::to_string(&target).unwrap();
        assert!(!stored.contains("bobs-vault") && !stored.contains("00112233"));
    }

    #[test]
    fn raid_on_encryption_names_the_layer_once() {
        let machine = three_disks();
        let machine = ["sda", "sdb", "sdc"].iter().enumerate().fold(machine, |machine, (i, member)| {
            layered(machine, &format!("dm-{i}"), &format!("253:{i}"), &[&format!("pci/block/{member}")])
                .file(&format!("/sys/devices/virtual/block/dm-{i}/dm/uuid"), "CRYPT-LUKS2-x\n")
        });
        let machine = layered(
            machine,
            "md0",
            "9:0",
            &["virtual/block/dm-0", "virtual/block/dm-1", "virtual/block/dm-2"],
        )
        .file("/sys/devices/virtual/block/md0/md/level", "raid1\n");
        let machine = mounted(machine, "22 1 9:0 / / rw - xfs /dev/md0 rw\n");
        let target = describe(&machine.root(), None, Path::new("/"));
        assert_eq!(target.stack.as_deref(), Some("xfs -> md0 (raid1) -> 3 x dm-crypt -> 3 disks"));
    }

    #[test]
    fn unlike_members_are_counted() {
        let machine = layered(three_disks(), "dm-0", "253:0", &["pci/block/sdb"])
            .file("/sys/devices/virtual/block/dm-0/dm/uuid", "CRYPT-LUKS2-x\n");
        let machine = layered(machine, "md0", "9:0", &["pci/block/sda", "virtual/block/dm-0"])
            .file("/sys/devices/virtual/block/md0/md/level", "raid1\n");
        let machine = mounted(machine, "22 1 9:0 / / rw - xfs /dev/md0 rw\n");
        let target = describe(&machine.root(), None, Path::new("/"));
        assert_eq!(target.stack.as_deref(), Some("xfs -> md0 (raid1) -> 2 devices -> 2 disks"));
    }

    #[test]
    fn a_loop_device_shows_the_file_system_of_its_file() {
        let machine = layered(disk(Fixture::new(), "sda", "8:0"), "loop0", "7:0", &[])
            .file("/sys/devices/virtual/block/loop0/loop/backing_file", "/images/a.img\n")
            .dir("/mnt");
        let machine =
            mounted(machine, "22 1 8:0 / / rw - ext4 /dev/sda rw\n23 22 7:0 / /mnt rw - xfs /dev/loop0 rw\n");
        let target = describe(&machine.root(), None, Path::new("/mnt"));
        assert_eq!(target.stack.as_deref(), Some("xfs -> loop0 -> ext4 -> sda"));
    }

    #[test]
    fn a_loop_device_on_itself_ends() {
        let machine = layered(Fixture::new(), "loop0", "7:0", &[])
            .file("/sys/devices/virtual/block/loop0/loop/backing_file", "/a.img\n");
        let machine = mounted(machine, "22 1 7:0 / / rw - xfs /dev/loop0 rw\n");
        assert!(describe(&machine.root(), None, Path::new("/")).stack.is_some());
    }

    #[test]
    fn btrfs_lists_its_members_and_properties() {
        let machine = ["sda", "sdb", "sdc"].iter().fold(three_disks(), |machine, name| {
            machine.dir(&format!("/sys/fs/btrfs/0d1f4c1e-1111-2222-3333-444455556666/devices/{name}"))
        });
        let machine =
            mounted(machine, "22 1 0:40 /@ / rw - btrfs /dev/sdb rw,compress=zstd:3,ssd,subvol=/@\n");
        let target = describe(&machine.root(), None, Path::new("/"));
        assert_eq!(target.stack.as_deref(), Some("btrfs -> 3 disks"));
        assert_eq!(target.devices.len(), 3);
        assert_eq!(target.properties.get("compression").map(String::as_str), Some("zstd:3"));
        assert_eq!(target.properties.get("subvol"), None);
    }

    #[test]
    fn file_systems_without_disks() {
        let machine = mounted(Fixture::new(), "22 1 0:40 / / rw - tmpfs tmpfs rw,size=1g\n");
        let target = describe(&machine.root(), None, Path::new("/"));
        assert_eq!((target.stack.as_deref(), target.devices.len()), (Some("tmpfs"), 0));
        let nothing = describe(&Fixture::new().root(), None, Path::new("/none"));
        assert_eq!((nothing.file_system, nothing.resolved, nothing.name.as_str()), (None, None, "none"));
    }

    #[test]
    fn a_relative_path_starts_at_the_current_directory() {
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        let target = describe(&Root::default(), None, Path::new("src"));
        assert_eq!(target.path, "src");
        assert_eq!(target.resolved.as_deref(), here.join("src").to_str());
    }

    #[test]
    fn overlay_shows_what_its_upper_directory_lies_on() {
        let machine = mounted(
            disk(Fixture::new(), "sda", "8:0").dir("/merged"),
            "22 1 8:0 / /var rw - ext4 /dev/sda rw\n\
             23 22 0:50 / /merged rw - overlay overlay rw,lowerdir=/l,upperdir=/var/u,workdir=/var/w\n",
        );
        let target = describe(&machine.root(), None, Path::new("/merged"));
        assert_eq!(target.stack.as_deref(), Some("overlay -> ext4 -> sda"));
    }
}
