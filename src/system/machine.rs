//! What `/proc`, `/sys` and `os-release` say of the machine.
//!
//! Reads files only; costs of clocks and operations are measured elsewhere and filled in.

use std::collections::BTreeSet;

use super::files::{Root, names, number, text};
use super::model::{Clock, System};

/// Describes the machine under `root`.
pub fn describe(root: &Root) -> System {
    let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
    System {
        processor: processor(root, &cpuinfo),
        cores: cores(&cpuinfo),
        threads: threads(root, &cpuinfo),
        frequency_hz: number(&root.path("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"))
            .map(|khz| khz * 1000),
        board: board(root),
        memory_bytes: memory(root),
        kernel: root.text("/proc/sys/kernel/osrelease"),
        architecture: root.text("/proc/sys/kernel/arch").or_else(|| Some(std::env::consts::ARCH.into())),
        distribution: distribution(root),
        governor: root.text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        clock: root
            .text("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .map(|source| Clock { source, cost_ns: None }),
        container: container(root),
        virtual_machine: virtual_machine(root, &cpuinfo),
        sqlite: Some(crate::os::linux::sqlite::version().into()),
        ..System::default()
    }
}

/// The value of the first line `key : value`.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key && !value.trim().is_empty()).then(|| value.trim())
    })
}

fn processor(root: &Root, cpuinfo: &str) -> Option<String> {
    // Other architectures spell it differently, or give it in the device tree only.
    ["model name", "Processor", "cpu model", "cpu", "uarch"]
        .iter()
        .find_map(|key| field(cpuinfo, key))
        .map(squeeze)
        .or_else(|| device_tree(root, "model"))
}

/// Single spaces.
fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn device_tree(root: &Root, name: &str) -> Option<String> {
    let text = root.text(format!("/proc/device-tree/{name}"))?;
    Some(squeeze(text.trim_end_matches('\0'))).filter(|t| !t.is_empty())
}

/// Distinct pairs of package and core.
fn cores(cpuinfo: &str) -> Option<u32> {
    let cores: BTreeSet<_> = cpuinfo
        .split("\n\n")
        .filter_map(|cpu| Some((field(cpu, "physical id").unwrap_or("0"), field(cpu, "core id")?)))
        .collect();
    u32::try_from(cores.len()).ok().filter(|&n| n > 0)
}

fn threads(root: &Root, cpuinfo: &str) -> Option<u32> {
    // "0-3,8": ranges of processor numbers.
    let from_list = root.text("/sys/devices/system/cpu/online").and_then(|list| {
        list.split(',').try_fold(0u32, |sum, part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
        })
    });
    let counted = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    from_list.or_else(|| u32::try_from(counted).ok().filter(|&n| n > 0))
}

/// Maker and name; texts that makers leave unfilled are not a name.
fn board(root: &Root) -> Option<String> {
    let dmi = |name: &str| {
        root.text(format!("/sys/class/dmi/id/{name}")).filter(|text| {
            let lower = text.to_lowercase();
            ![
                "to be filled",
                "default string",
                "system manufacturer",
                "system product",
                "not specified",
                "none",
            ]
            .iter()
            .any(|empty| lower.starts_with(empty))
        })
    };
    let joined = |vendor: &str, name: &str| match (dmi(vendor), dmi(name)) {
        (Some(vendor), Some(name)) if !name.starts_with(&vendor) => Some(format!("{vendor} {name}")),
        (_, name) => name,
    };
    joined("board_vendor", "board_name")
        .or_else(|| joined("sys_vendor", "product_name"))
        .or_else(|| device_tree(root, "model"))
}

fn memory(root: &Root) -> Option<u64> {
    let meminfo = root.text("/proc/meminfo")?;
    let kib: u64 = field(&meminfo, "MemTotal")?.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

fn distribution(root: &Root) -> Option<String> {
    let release = root.text("/etc/os-release").or_else(|| root.text("/usr/lib/os-release"))?;
    let value = |key: &str| {
        release.lines().find_map(|line| {
            let (name, value) = line.split_once('=')?;
            (name == key).then(|| value.trim_matches(['"', '\'']).to_string())
        })
    };
    value("PRETTY_NAME").or_else(|| value("NAME"))
}

fn container(root: &Root) -> Option<String> {
    if root.exists("/.dockerenv") {
        return Some("docker".into());
    }
    if root.exists("/run/.containerenv") {
        return Some("podman".into());
    }
    if let Some(kind) = root.text("/run/systemd/container") {
        return Some(kind);
    }
    let groups = root.text("/proc/1/cgroup").unwrap_or_default();
    ["docker", "kubepods", "lxc", "libpod"].iter().find(|k| groups.contains(**k)).map(|k| (*k).into())
}

fn virtual_machine(root: &Root, cpuinfo: &str) -> Option<String> {
    if let Some(kind) = root.text("/sys/hypervisor/type") {
        return Some(kind);
    }
    let dmi: String = ["sys_vendor", "product_name", "board_vendor", "bios_vendor"]
        .iter()
        .filter_map(|name| text(&root.path(format!("/sys/class/dmi/id/{name}"))))
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase();
    // What makers of virtual machines write into their firmware tables.
    for (sign, kind) in [
        ("qemu", "kvm"),
        ("kvm", "kvm"),
        ("vmware", "vmware"),
        ("virtualbox", "virtualbox"),
        ("innotek", "virtualbox"),
        ("xen", "xen"),
        ("amazon ec2", "amazon ec2"),
        ("google compute engine", "google compute engine"),
        ("virtual machine", "hyper-v"),
        ("parallels", "parallels"),
        ("bochs", "bochs"),
        ("firecracker", "firecracker"),
    ] {
        if dmi.contains(sign) {
            return Some(kind.into());
        }
    }
    let flagged = field(cpuinfo, "flags").is_some_and(|f| f.split_whitespace().any(|f| f == "hypervisor"));
    let virtio = names(&root.path("/sys/bus/virtio/devices")).iter().any(|n| n.starts_with("virtio"));
    match (flagged, virtio) {
        (true, true) => Some("kvm".into()),
        (true, false) | (false, true) => Some("unknown".into()),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fixture::Fixture;

    const CPUINFO: &str = "processor\t: 0\nmodel name\t: Intel(R)  Core(TM) i7-6500U\nphysical id\t: 0\ncore id\t\t: 0\nflags\t\t: fpu vme\n\n\
        processor\t: 1\nmodel name\t: Intel(R)  Core(TM) i7-6500U\nphysical id\t: 0\ncore id\t\t: 0\nflags\t\t: fpu vme\n\n\
        processor\t: 2\nphysical id\t: 0\ncore id\t\t: 1\n\nprocessor\t: 3\nphysical id\t: 0\ncore id\t\t: 1\n\n";

    #[test]
    fn a_laptop() {
        let machine = Fixture::new()
            .file("/proc/cpuinfo", CPUINFO)
            .file("/proc/meminfo", "MemTotal:       16262144 kB\nMemFree: 1 kB\n")
            .file("/proc/sys/kernel/osrelease", "5.3.0-18-generic\n")
            .file("/proc/sys/kernel/arch", "x86_64\n")
            .file("/proc/sys/kernel/hostname", "secret\n")
            .file("/etc/hostname", "secret\n")
            .file("/etc/os-release", "NAME=\"Ubuntu\"\nPRETTY_NAME=\"Ubuntu 19.10\"\n")
            .file("/sys/devices/system/cpu/online", "0-3\n")
            .file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")
            .file("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3100000\n")
            .file("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n")
            .file("/sys/class/dmi/id/board_vendor", "Purism\n")
            .file("/sys/class/dmi/id/board_name", "Librem 15 v3\n")
            .file("/sys/class/dmi/id/board_serial", "S1\n")
            .file("/sys/class/dmi/id/product_uuid", "0d1f4c1e-1111-2222-3333-444455556666\n");
        let system = describe(&machine.root());
        assert_eq!(system.processor.as_deref(), Some("Intel(R) Core(TM) i7-6500U"));
        assert_eq!((system.cores, system.threads), (Some(2), Some(4)));
        assert_eq!(system.frequency_hz, Some(3_100_000_000));
        assert_eq!(system.board.as_deref(), Some("Purism Librem 15 v3"));
        assert_eq!(system.memory_bytes, Some(16_262_144 * 1024));
        assert_eq!(system.kernel.as_deref(), Some("5.3.0-18-generic"));
        assert_eq!(system.distribution.as_deref(), Some("Ubuntu 19.10"));
        assert_eq!(system.governor.as_deref(), Some("powersave"));
        assert_eq!(system.clock.as_ref().map(|c| c.source.as_str()), Some("tsc"));
        assert_eq!((&system.container, &system.virtual_machine), (&None, &None));
        let stored = serde_json::to_string(&system).unwrap();
        for secret in ["secret", "S1", "0d1f4c1e"] {
            assert!(!stored.contains(secret), "{secret} is stored");
        }
    }

    #[test]
    fn a_small_board_without_firmware_tables() {
        let machine = Fixture::new()
            .file(
                "/proc/cpuinfo",
                "processor\t: 0\nBogoMIPS\t: 108.00\n\nprocessor\t: 1\nBogoMIPS\t: 108.00\n",
            )
            .file("/proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4\0");
        let system = describe(&machine.root());
        assert_eq!(system.board.as_deref(), Some("Raspberry Pi 4 Model B Rev 1.4"));
        assert_eq!(system.processor.as_deref(), Some("Raspberry Pi 4 Model B Rev 1.4"));
        assert_eq!((system.cores, system.threads), (None, Some(2)));
        assert_eq!(system.memory_bytes, None);
    }

    #[test]
    fn virtual_machines_and_containers() {
        let kvm = Fixture::new()
            .file("/proc/cpuinfo", "processor: 0\nflags : fpu hypervisor\n")
            .file("/sys/class/dmi/id/sys_vendor", "QEMU")
            .file("/.dockerenv", "x");
        let system = describe(&kvm.root());
        assert_eq!(system.virtual_machine.as_deref(), Some("kvm"));
        assert_eq!(system.container.as_deref(), Some("docker"));
        let bare_flag = Fixture::new().file("/proc/cpuinfo", "flags : hypervisor\n");
        assert_eq!(describe(&bare_flag.root()).virtual_machine.as_deref(), Some("unknown"));
        let pod = Fixture::new().file("/proc/1/cgroup", "0::/kubepods/besteffort/pod1\n");
        assert_eq!(describe(&pod.root()).container.as_deref(), Some("kubepods"));
        let unfilled = Fixture::new()
            .file("/sys/class/dmi/id/board_vendor", "To be filled by O.E.M.")
            .file("/sys/class/dmi/id/board_name", "To be filled by O.E.M.");
        assert_eq!(describe(&unfilled.root()).board, None);
    }

    #[test]
    fn this_machine_has_a_kernel_and_memory() {
        let system = describe(&Root::default());
        assert!(system.kernel.is_some() && system.memory_bytes > Some(1 << 20) && system.threads >= Some(1));
    }
}
