//! Keeping out of a record what identifies a person or one machine: home directories, user and
//! host names, addresses, UUIDs, WWNs. Models, sizes and kernel names stay.
//!
//! Works on texts; which texts of a record may hold such things is listed here, once.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::{env, fs};

use super::model::Record;
use super::row::Row;
use crate::system::Target;

/// The names that identify.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    /// Absolute paths of home directories.
    pub homes: Vec<String>,
    /// Names of users.
    pub users: Vec<String>,
    /// Names of hosts; short forms need not be among them.
    pub hosts: Vec<String>,
}

/// User names that many machines share; taking them out would only make texts unreadable.
const COMMON_USERS: [&str; 13] = [
    "root", "user", "admin", "test", "nobody", "ubuntu", "debian", "fedora", "centos", "pi", "vagrant",
    "ec2-user", "runner",
];

/// Mount options whose value is an address, a name or a secret.
const SECRET_OPTIONS: [&str; 16] = [
    "addr",
    "clientaddr",
    "mountaddr",
    "ip",
    "username",
    "user",
    "user_id",
    "domain",
    "workgroup",
    "password",
    "pass",
    "credentials",
    "netbiosname",
    "servern",
    "secret",
    "secretfile",
];

/// File systems whose source starts with a server.
const NETWORK: [&str; 10] =
    ["nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "fuse.glusterfs", "fuse.sshfs", "lustre", "afs"];

impl Identity {
    /// Of whoever runs this, on the machine it runs on.
    pub fn of_this_machine() -> Identity {
        let variables = |names: &[&str]| -> Vec<String> {
            names.iter().filter_map(|name| env::var(name).ok()).filter(|v| !v.is_empty()).collect()
        };
        let homes: Vec<String> = variables(&["HOME"]).into_iter().filter(|home| home.len() > 1).collect();
        let mut users = variables(&["USER", "LOGNAME", "SUDO_USER"]);
        users.extend(homes.iter().filter_map(|home| home.rsplit('/').next()).map(str::to_string));
        let hosts = ["/proc/sys/kernel/hostname", "/etc/hostname"]
            .iter()
            .filter_map(|path| fs::read_to_string(path).ok())
            .map(|name| name.trim().to_string());
        Identity { homes, users, hosts: hosts.collect() }
    }
}

/// Takes identity out of texts and records.
#[derive(Clone, Debug)]
pub struct Scrubber {
    /// `None` leaves everything as it is.
    identity: Option<Identity>,
}

impl Scrubber {
    /// A scrubber of these names; those that many machines share are left in.
    pub fn new(mut identity: Identity) -> Scrubber {
        // A host's short name also stands without its domain.
        let short: Vec<String> =
            identity.hosts.iter().filter_map(|h| h.split_once('.')).map(|(name, _)| name.into()).collect();
        identity.hosts.extend(short);
        identity.hosts.retain(|host| host.len() > 1 && host != "localhost");
        identity.users.retain(|user| user.len() > 1 && !COMMON_USERS.contains(&user.as_str()));
        for names in [&mut identity.homes, &mut identity.users, &mut identity.hosts] {
            names.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
            names.dedup();
        }
        Scrubber { identity: Some(identity) }
    }

    /// For whoever runs this.
    pub fn of_this_machine() -> Scrubber {
        Scrubber::new(Identity::of_this_machine())
    }

    /// Leaves everything as it is: the user asked to be identified.
    pub fn off() -> Scrubber {
        Scrubber { identity: None }
    }

    /// A text, a path or an argument without identity.
    pub fn text(&self, text: &str) -> String {
        let Some(identity) = &self.identity else { return text.to_string() };
        let mut text = text.to_string();
        for home in &identity.homes {
            text = replace(&text, "~", |rest| path_prefix(rest, home));
        }
        for parent in ["/home/", "/Users/", "/var/home/"] {
            text = replace(&text, "~", |rest| child_of(rest, parent));
        }
        text = replace(&text, "~", |rest| path_prefix(rest, "/root"));
        for (parent, with) in [
            ("/run/media/", "/run/media/<user>"),
            ("/media/", "/media/<user>"),
            ("/run/user/", "/run/user/<user>"),
            ("/dev/disk/by-uuid/", "/dev/disk/by-uuid/<uuid>"),
            ("/dev/disk/by-partuuid/", "/dev/disk/by-partuuid/<uuid>"),
            ("/dev/disk/by-id/", "/dev/disk/by-id/<id>"),
            ("/dev/disk/by-label/", "/dev/disk/by-label/<label>"),
            ("//", "//<address>"),
        ] {
            text = replace(&text, with, |rest| child_of(rest, parent));
        }
        text = replace(&text, "<uuid>", uuid);
        text = replace(&text, "<mac>", mac);
        text = replace(&text, "<wwn>", wwn);
        text = replace(&text, "<address>", ipv6);
        text = replace(&text, "<address>", ipv4);
        for (names, with) in [(&identity.hosts, "<host>"), (&identity.users, "<user>")] {
            for name in names {
                text = replace(&text, with, |rest| word(rest, name));
            }
        }
        text
    }

    /// Everything in a record that may hold identity. Title and name are the user's own words.
    pub fn record(&self, record: &mut Record) {
        if self.identity.is_none() {
            return;
        }
        for argument in &mut record.run.command_line {
            *argument = self.text(argument);
        }
        self.target(&mut record.target);
        record.rows.iter_mut().for_each(|row| self.row(row));
    }

    /// Replaces the names in one row.
    pub fn row(&self, row: &mut Row) {
        if self.identity.is_some() {
            row.rewrite(&|text| self.text(text));
        }
    }

    /// Replaces the names in a target.
    pub fn target(&self, target: &mut Target) {
        if self.identity.is_none() {
            return;
        }
        let resolved = target.resolved.iter_mut();
        for text in [&mut target.name, &mut target.path].into_iter().chain(resolved) {
            *text = self.text(text);
        }
        if let Some(file_system) = &mut target.file_system {
            let server =
                file_system.source.find(":/").filter(|_| NETWORK.contains(&file_system.kind.as_str()));
            if let Some(end) = server {
                file_system.source.replace_range(..end, "<address>");
            }
            file_system.source = self.text(&file_system.source);
            file_system.mounted_at = self.text(&file_system.mounted_at);
            for option in &mut file_system.options {
                *option = match option.split_once('=') {
                    Some((key, _)) if SECRET_OPTIONS.contains(&key) => format!("{key}=<removed>"),
                    _ => self.text(option),
                };
            }
        }
        for value in target.properties.values_mut() {
            *value = self.text(value);
        }
    }
}

/// Replaces every match. `find` sees the rest of the text and gives the length of a match at its
/// start; it is asked only where a word or path can begin.
fn replace(text: &str, with: &str, find: impl Fn(&str) -> Option<usize>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    while let Some(next) = rest.chars().next() {
        let starts = before.is_none_or(|c: char| !c.is_alphanumeric() && (next != '/' || !"/~>".contains(c)));
        match find(rest).filter(|&len| starts && len > 0) {
            Some(len) => {
                out.push_str(with);
                before = rest[..len].chars().next_back();
                rest = &rest[len..];
            }
            None => {
                out.push(next);
                before = Some(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    out
}

/// `prefix` as a whole path or the beginning of one.
fn path_prefix(text: &str, prefix: &str) -> Option<usize> {
    let prefix = prefix.trim_end_matches('/');
    let after = text.strip_prefix(prefix)?.chars().next();
    after.is_none_or(|c| !is_name(c)).then_some(prefix.len())
}

/// `parent` and the one name below it.
fn child_of(text: &str, parent: &str) -> Option<usize> {
    let name = text.strip_prefix(parent)?;
    let len = name.find(|c| !is_name(c)).unwrap_or(name.len());
    // What was replaced before stays as it is.
    (len > 0).then_some(parent.len() + len)
}

/// Characters a name in a path may well have.
fn is_name(c: char) -> bool {
    c.is_alphanumeric() || "._-+@:%".contains(c)
}

/// `name` with nothing alphanumeric after it.
fn word(text: &str, name: &str) -> Option<usize> {
    let after = text.strip_prefix(name)?.chars().next();
    after.is_none_or(|c| !c.is_alphanumeric()).then_some(name.len())
}

/// Groups of hexadecimal digits of these lengths with one separator between them.
fn hex_groups(text: &str, groups: &[usize], separators: &str) -> Option<usize> {
    let mut at = 0;
    let mut separator = None;
    for (i, &len) in groups.iter().enumerate() {
        if i > 0 {
            let c = text.get(at..)?.chars().next()?;
            if !separators.contains(c) || separator.is_some_and(|s| s != c) {
                return None;
            }
            separator = Some(c);
            at += 1;
        }
        let digits = text.get(at..at + len)?;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        at += len;
    }
    let after = text[at..].chars().next();
    after.is_none_or(|c| !c.is_alphanumeric()).then_some(at)
}

fn uuid(text: &str) -> Option<usize> {
    hex_groups(text, &[8, 4, 4, 4, 12], "-")
}

fn mac(text: &str) -> Option<usize> {
    hex_groups(text, &[2; 6], ":-")
}

/// `wwn-0x5000c500a1b2c3d4`, `naa.5000…`, `eui.0025…`, and the bare number.
fn wwn(text: &str) -> Option<usize> {
    for prefix in ["wwn-0x", "naa.", "eui.", "nvme.", "0x"] {
        if let Some(number) = text.strip_prefix(prefix) {
            let digits = number.bytes().take_while(u8::is_ascii_hexdigit).count();
            if digits >= 16 {
                return Some(prefix.len() + digits);
            }
        }
    }
    None
}

fn ipv4(text: &str) -> Option<usize> {
    let len = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let address = text[..len].trim_end_matches('.');
    address.parse::<Ipv4Addr>().ok().map(|_| address.len())
}

fn ipv6(text: &str) -> Option<usize> {
    let len = text.find(|c: char| !c.is_ascii_hexdigit() && !":.".contains(c)).unwrap_or(text.len());
    let run = &text[..len];
    // In `fe80::1:/share` the last colon belongs to what follows.
    [run, run.trim_end_matches(['.', ':'])]
        .into_iter()
        .find(|address| address.len() > 2 && address.parse::<Ipv6Addr>().is_ok())
        .map(str::len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{NoResult, Reason, json, sample};
    use crate::system::FileSystem;
    use serde_json::json;

    fn scrubber() -> Scrubber {
        Scrubber::new(Identity {
            homes: vec!["/home/bob".into(), "/srv/people/bob".into()],
            users: vec!["bob".into(), "root".into()],
            hosts: vec!["secret.example.org".into(), "localhost".into()],
        })
    }

    #[test]
    fn texts() {
        for (text, want) in [
            ("/home/bob/x", "~/x"),
            ("/home/bob", "~"),
            ("/home/bobby/x", "~/x"),
            ("--target=/home/alice/x,/root/y", "--target=~/x,~/y"),
            ("/srv/people/bob/x", "~/x"),
            ("/rooted/home/bob", "/rooted/home/<user>"),
            ("//10.0.0.5/share", "//<address>/share"),
            ("//nas/share/a", "//<address>/share/a"),
            ("10.0.0.5:/share", "<address>:/share"),
            ("[fe80::1]:/share", "[<address>]:/share"),
            ("fe80::1:/share", "<address>:/share"),
            ("/mnt//disk", "/mnt//disk"),
            ("bob@secret:/x", "<user>@<host>:/x"),
            ("secret.example.org", "<host>"),
            ("secrets", "secrets"),
            ("/run/media/bob/disk", "/run/media/<user>/disk"),
            ("/media/alice/disk", "/media/<user>/disk"),
            ("/dev/disk/by-uuid/ABCD-1234", "/dev/disk/by-uuid/<uuid>"),
            ("/dev/disk/by-id/ata-WDC_WD40EFRX-S1", "/dev/disk/by-id/<id>"),
            ("/x/0d1f4c1e-1111-2222-3333-444455556666/y", "/x/<uuid>/y"),
            ("eth 00:1b:44:11:3a:b7.", "eth <mac>."),
            ("wwn-0x5000c500a1b2c3d4", "<wwn>"),
            ("kernel 6.1.0-13, 12:30:45, 4.15.0-58", "kernel 6.1.0-13, 12:30:45, 4.15.0-58"),
            ("ext4 -> md1 (raid5) -> 3 disks", "ext4 -> md1 (raid5) -> 3 disks"),
            ("ä/home/ö/bob", "ä/home/ö/<user>"),
        ] {
            assert_eq!(scrubber().text(text), want, "{text}");
            assert_eq!(scrubber().text(want), want, "scrubbing twice changes {want}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_scrubbed(odd in "[/a-f0-9:.~<>@é-]{0,60}", any in ".{0,60}") {
            scrubber().text(&odd);
            scrubber().text(&any);
            let hidden = scrubber().text(&format!("{odd} /home/bob/{any}"));
            proptest::prop_assert!(!hidden.contains("/home/bob/"));
        }
    }

    #[test]
    fn nothing_identifying_is_left_in_a_record() {
        let mut failed = sample::measured("mixed", "b", &[1.0]);
        failed.no_result(
            NoResult::Failed,
            Reason {
                message: "open /home/bob/f on secret".into(),
                path: Some("/home/bob/f".into()),
                what_to_do: Some("ask 10.0.0.5".into()),
                ..Reason::default()
            },
        );
        let mut record = sample::record("r", vec![sample::measured("mixed", "a", &[1.0]), failed]);
        record.rows[0].params.insert("file".into(), json!(["/home/bob/loadfile"]));
        record.rows[0].title = "Case a [file=/home/bob/loadfile]".into();
        record.run.command_line =
            ["ioscore", "run", "x", "--target", "nas=/home/bob/x", "--target", "//10.0.0.5/share"]
                .map(String::from)
                .to_vec();
        record.target.name = "bob".into();
        record.target.path = "/home/bob".into();
        record.target.resolved = Some("/srv/people/bob".into());
        record.target.file_system = Some(FileSystem {
            kind: "nfs4".into(),
            source: "nas.local:/home/bob".into(),
            mounted_at: "/home/bob".into(),
            options: [
                "rw",
                "username=bob",
                "addr=10.0.0.5",
                "clientaddr=10.0.0.7",
                "vers=4.2",
                "domain=CORP",
            ]
            .map(String::from)
            .to_vec(),
        });
        let plain = String::from_utf8(json::write(&record).unwrap()).unwrap();
        assert!(plain.contains("secret") && plain.contains("/home/bob"), "the fixture has what must go");

        let mut off = record.clone();
        Scrubber::off().record(&mut off);
        assert_eq!(off, record);

        scrubber().record(&mut record);
        let stored = String::from_utf8(json::write(&record).unwrap()).unwrap();
        for secret in ["secret", "bob", "10.0.0", "nas.local", "/home", "CORP"] {
            assert!(!stored.contains(secret), "{secret} is left in {stored}");
        }
        assert!(stored.contains("vers=4.2") && stored.contains("<address>:~"));
    }

    #[test]
    fn this_machine_has_an_identity_to_hide() {
        let scrubber = Scrubber::of_this_machine();
        if let Some(home) = env::var("HOME").ok().filter(|home| home.len() > 1) {
            assert_eq!(scrubber.text(&format!("{home}/x")), "~/x");
        }
    }
}
