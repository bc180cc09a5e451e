//! Nothing that identifies a person or machine leaves with a result: not in the record, not in an
//! export, not in a file name.

use std::fs;
use std::path::Path;

use ioscore::record::{Case, Identity, NoResult, Reason, Record, Run, RunState, Scrubber, Store};
use ioscore::report::csv::{Options, Shape, write};
use ioscore::report::{side_by_side, terminal};
use ioscore::system::files::Root;
use ioscore::system::{FileSystem, machine, target};

const SECRETS: [&str; 8] =
    ["secret", "S1-SERIAL", "10.0.0.5", "bob", "5000c500", "0d1f4c1e", "00:1b:44", "/home"];

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("directories are made");
    fs::write(path, text).expect("the file is written");
}

/// A machine whose every file that could tell who it is does so.
fn telling_machine(root: &Path) {
    for (path, text) in [
        ("proc/sys/kernel/hostname", "secret\n"),
        ("etc/hostname", "secret\n"),
        ("etc/machine-id", "0d1f4c1e111122223333444455556666\n"),
        ("proc/sys/kernel/osrelease", "6.1.0-13-amd64\n"),
        ("sys/class/dmi/id/board_name", "Z97-E\n"),
        ("sys/class/dmi/id/board_serial", "S1-SERIAL\n"),
        ("sys/class/dmi/id/product_serial", "S1-SERIAL\n"),
        ("sys/class/dmi/id/product_uuid", "0d1f4c1e-1111-2222-3333-444455556666\n"),
        ("sys/class/net/eth0/address", "00:1b:44:11:3a:b7\n"),
        ("sys/dev/block/8:0/size", "1000\n"),
        ("sys/dev/block/8:0/device/model", "WD40EFRX\n"),
        ("sys/dev/block/8:0/device/serial", "S1-SERIAL\n"),
        ("sys/dev/block/8:0/device/vpd_pg80", "S1-SERIAL\n"),
        ("sys/dev/block/8:0/wwid", "naa.5000c500a1b2c3d4\n"),
        (
            "proc/self/mountinfo",
            "22 1 8:0 / /home/bob rw - ext4 /dev/disk/by-uuid/0d1f4c1e-1111-2222-3333-444455556666 rw\n",
        ),
        ("home/bob/x/file", ""),
    ] {
        put(root, path, text);
    }
}

#[test]
fn no_secret_is_in_record_exports_or_file_names() {
    let place = tempfile::tempdir().expect("a temporary directory");
    telling_machine(place.path());
    let root = Root::at(place.path());
    let mut record = Record::planned(
        Run {
            name: "night".into(),
            command_line: ["ioscore", "run", "--target", "/home/bob/x", "--target=//10.0.0.5/share"]
                .map(String::from)
                .to_vec(),
            ..Run::default()
        },
        machine::describe(&root),
        target::describe(&root, None, Path::new("/home/bob/x")),
        ["a", "b"].map(|id| Case { profile: "p".into(), case: id.into(), ..Case::default() }).to_vec(),
    );
    assert_eq!(record.system.board.as_deref(), Some("Z97-E"));
    assert_eq!(record.target.devices[0].model.as_deref(), Some("WD40EFRX"));
    assert!(record.target.path.contains("bob"), "there is something to hide");
    record.rows[0].params.insert("loadfile".into(), "/home/bob/client.txt".into());

    let identity =
        Identity { homes: vec!["/home/bob".into()], users: vec!["bob".into()], hosts: vec!["secret".into()] };
    let results = place.path().join("results");
    let mut store = Store::create(&results, record.clone(), Scrubber::new(identity)).expect("a new run");
    let mut row = record.rows.remove(1);
    row.no_result(NoResult::Failed, Reason::new("cannot open /home/bob/x/run on secret (10.0.0.5)"));
    store.set_row(1, row).expect("saved");
    store
        .update(|record| {
            record.target.file_system = Some(FileSystem {
                kind: "cifs".into(),
                source: "//10.0.0.5/share".into(),
                mounted_at: "/media/bob/nas".into(),
                options: vec!["username=bob".into(), "addr=10.0.0.5".into(), "vers=3.1.1".into()],
            });
        })
        .expect("saved");
    let stored = fs::read_to_string(store.dir().join("record.json")).expect("the record is there");
    let done = store.finish(RunState::Complete).expect("saved");

    let mut seen = vec![stored, terminal::table(&done, None)];
    seen.push(side_by_side::compare(&[done.clone(), done.clone()]).table(None));
    for shape in [Shape::Long, Shape::Wide, Shape::Raw] {
        let options = Options { shape, ..Options::default() };
        let bytes = write(std::slice::from_ref(&done), options).expect("CSV is written");
        seen.push(String::from_utf8(bytes).expect("UTF-8"));
    }
    for entry in
        fs::read_dir(&results).expect("results").chain(fs::read_dir(results.join("night")).expect("the run"))
    {
        seen.push(entry.expect("an entry").file_name().to_string_lossy().into_owned());
    }
    for text in &seen {
        for secret in SECRETS {
            assert!(!text.contains(secret), "{secret:?} is in\n{text}");
        }
    }
    assert!(seen[0].contains("vers=3.1.1") && seen[0].contains("WD40EFRX"), "what does not identify stays");
    assert!(seen[1].contains("cannot open ~/x/run on <host> (<address>)"), "{}", seen[1]);
}
