use super::super::testing::Mounted;
use super::*;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

const PID_OF_NOBODY: u32 = 1 << 30;

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(path).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What a run that died leaves behind.
fn forge(target: &Path, name: &str, change: impl FnOnce(&mut Marker)) -> PathBuf {
    let dir = target.join(name);
    fs::create_dir_all(dir.join("work/sub")).unwrap();
    fs::write(dir.join("work/sub/file"), "x").unwrap();
    let mut marker = Marker { pid: PID_OF_NOBODY, ..Marker::of_this_process() };
    change(&mut marker);
    fs::write(dir.join(".ioscore-run"), marker.to_text()).unwrap();
    dir
}

fn states(target: &Path) -> Vec<(String, CleanedState)> {
    clean(target).unwrap().into_iter().map(|cleaned| (cleaned.name, cleaned.state)).collect()
}

#[test]
fn made_marked_and_gone() {
    let target = tempfile::tempdir().unwrap();
    let run = RunDir::create(target.path(), "first").unwrap();
    let name = format!("ioscore-run-first-{}", std::process::id());
    assert_eq!((run.name(), names(target.path())), (name.clone(), vec![name.clone()]));
    let dir = target.path().join(&name);
    assert_eq!(names(&dir), [".ioscore-run", "work"]);
    for path in [dir.clone(), dir.join("work")] {
        assert_eq!(fs::metadata(path).unwrap().mode() & 0o7777, 0o700);
    }
    assert_eq!(run.path(), target.path().canonicalize().unwrap().join(&name).join("work"));
    assert!(names(&run.path()).is_empty(), "tests see only their own files");
    let marker = Marker::parse(&fs::read_to_string(dir.join(".ioscore-run")).unwrap()).unwrap();
    assert_eq!(marker, Marker::of_this_process());
    assert_eq!(calls::mkdirat(run.root(), c"made-by-a-test", 0o500), Ok(()));
    assert!(run.path().join("made-by-a-test").is_dir());
    run.remove().unwrap();
    assert!(names(target.path()).is_empty());
}

#[test]
fn dropping_removes_and_keeping_does_not() {
    let target = tempfile::tempdir().unwrap();
    let run = RunDir::create(target.path(), "x").unwrap();
    fs::write(run.path().join("file"), "x").unwrap();
    drop(run);
    assert!(names(target.path()).is_empty());
    let run = RunDir::create(target.path(), "x").unwrap();
    fs::write(run.path().join("file"), "x").unwrap();
    let kept = run.keep().unwrap();
    assert_eq!(fs::read_to_string(kept.join("work/file")).unwrap(), "x");
    assert_eq!(states(target.path())[0].1, CleanedState::Kept);
    assert!(kept.join("work/file").exists());
}

#[test]
fn the_target_may_be_a_symbolic_link_and_both_names_are_kept() {
    let outer = tempfile::tempdir().unwrap();
    let (real, link) = (outer.path().join("real"), outer.path().join("link"));
    fs::create_dir(&real).unwrap();
    symlink("real", &link).unwrap();
    let run = RunDir::create(&link, "x").unwrap();
    assert_eq!((run.given(), run.real()), (link.as_path(), real.canonicalize().unwrap().as_path()));
    // What the link says later does not matter.
    fs::remove_file(&link).unwrap();
    fs::create_dir(&link).unwrap();
    assert_eq!(calls::mkdirat(run.root(), c"d", 0o700), Ok(()));
    run.remove().unwrap();
    assert!(names(&real).is_empty() && names(&link).is_empty());
}

#[test]
fn a_name_that_is_taken_gets_a_suffix() {
    let target = tempfile::tempdir().unwrap();
    let one = RunDir::create(target.path(), "x").unwrap();
    let two = RunDir::create(target.path(), "x").unwrap();
    assert_eq!(two.name(), format!("{}.2", one.name()));
    one.remove().unwrap();
    assert_eq!(names(target.path()), [two.name()]);
    two.remove().unwrap();
}

#[test]
fn refuses_names_and_targets_that_cannot_be() {
    let target = tempfile::tempdir().unwrap();
    fs::write(target.path().join("file"), "").unwrap();
    for name in ["", "a/b", "a\0b", "a\nb", &"n".repeat(200)] {
        let error = RunDir::create(target.path(), name).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name:?}");
    }
    let errno = |path: &str| RunDir::create(&target.path().join(path), "x").unwrap_err().raw_os_error();
    assert_eq!(errno("missing"), Some(libc::ENOENT));
    assert_eq!(errno("file"), Some(libc::ENOTDIR));
    assert_eq!(errno(&"n".repeat(300)), Some(libc::ENAMETOOLONG));
    assert_eq!(names(target.path()), ["file"]);
}

#[test]
fn removing_says_what_is_left_and_never_takes_another_directory() {
    let target = tempfile::tempdir().unwrap();
    let run = RunDir::create(target.path(), "x").unwrap();
    let (dir, moved) = (target.path().join(run.name()), target.path().join("moved"));
    fs::rename(&dir, &moved).unwrap();
    fs::create_dir(&dir).unwrap();
    let left = run.remove().unwrap_err();
    assert_eq!(left, [Left { path: ".".into(), errno: Errno(libc::ESTALE) }]);
    assert!(dir.exists());
    assert!(names(&moved).is_empty(), "what was ours is empty, wherever it is");
}

#[test]
fn a_working_directory_without_permissions_is_removed_too() {
    let target = tempfile::tempdir().unwrap();
    let run = RunDir::create(target.path(), "x").unwrap();
    fs::create_dir_all(run.path().join("a/b")).unwrap();
    for path in [run.path().join("a/b"), run.path().join("a"), run.path()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
    }
    run.remove().unwrap();
    assert!(names(target.path()).is_empty());
}

#[test]
fn clean_takes_the_dead_and_nothing_else() {
    let target = tempfile::tempdir().unwrap();
    let at = |name: &str| target.path().join(name);
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("precious"), "x").unwrap();

    let own = RunDir::create(target.path(), "alive").unwrap();
    forge(target.path(), "ioscore-run-dead-1", |_| {});
    symlink(outside.path(), at("ioscore-run-dead-1/work/link")).unwrap();
    let own_pid = |marker: &mut Marker| marker.pid = std::process::id();
    forge(target.path(), "ioscore-run-recycled-2", |marker| {
        own_pid(marker);
        marker.start_ticks = Some(1);
    });
    forge(target.path(), "ioscore-run-rebooted-3", |marker| {
        own_pid(marker);
        marker.boot_id = Some("another".into());
    });
    forge(target.path(), "ioscore-run-unlocked-4", own_pid);
    forge(target.path(), "ioscore-run-foreign-5", |marker| marker.tool = "other".into());
    forge(target.path(), "not-a-run", |_| {});
    fs::create_dir_all(at("ioscore-run-bare-6/work")).unwrap();
    fs::write(at("ioscore-run-file-7"), "x").unwrap();
    let elsewhere = forge(outside.path(), "linked", |_| {});
    symlink(&elsewhere, at("ioscore-run-link-8")).unwrap();
    fs::create_dir(at("ioscore-run-link-9")).unwrap();
    symlink(elsewhere.join(".ioscore-run"), at("ioscore-run-link-9/.ioscore-run")).unwrap();

    use CleanedState::{NotOurs, Removed, StillRunning};
    let mut wanted = vec![
        (own.name(), StillRunning),
        ("ioscore-run-bare-6".into(), NotOurs),
        ("ioscore-run-dead-1".into(), Removed),
        ("ioscore-run-file-7".into(), NotOurs),
        ("ioscore-run-foreign-5".into(), NotOurs),
        ("ioscore-run-link-8".into(), NotOurs),
        ("ioscore-run-link-9".into(), NotOurs),
        ("ioscore-run-rebooted-3".into(), Removed),
        ("ioscore-run-recycled-2".into(), Removed),
        ("ioscore-run-unlocked-4".into(), StillRunning),
    ];
    wanted.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(states(target.path()), wanted);
    let stays = wanted.iter().filter(|w| w.1 != Removed).map(|w| w.0.clone());
    let mut stays: Vec<_> = stays.chain(["not-a-run".to_string()]).collect();
    stays.sort();
    assert_eq!(names(target.path()), stays);
    assert!(at("not-a-run/work/sub/file").exists() && elsewhere.join("work/sub/file").exists());
    assert!(outside.path().join("precious").exists());
    own.remove().unwrap();
}

#[test]
fn a_lock_that_is_held_means_alive_whatever_the_marker_says() {
    let target = tempfile::tempdir().unwrap();
    let dir = forge(target.path(), "ioscore-run-x-1", |_| {});
    let marker = File::open(dir.join(".ioscore-run")).unwrap();
    marker.try_lock().unwrap();
    assert_eq!(states(target.path())[0].1, CleanedState::StillRunning);
    drop(marker);
    assert_eq!(states(target.path())[0].1, CleanedState::Removed);
    assert!(clean(target.path()).unwrap().is_empty());
    assert!(clean(&target.path().join("missing")).is_err());
}

#[test]
fn a_killed_process_is_cleaned_after() {
    let target = tempfile::tempdir().unwrap();
    let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let ticks = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse().unwrap();
    forge(target.path(), "ioscore-run-x-1", |marker| {
        marker.pid = child.id();
        marker.start_ticks = Some(ticks);
    });
    assert_eq!(states(target.path())[0].1, CleanedState::StillRunning);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(states(target.path())[0].1, CleanedState::Removed);
}

#[test]
fn a_directory_that_cannot_be_furnished_goes_again() {
    let target = tempfile::tempdir().unwrap();
    // Room for the root, the run directory and its marker; none for the working directory.
    let Some(_mounted) = Mounted::tmpfs(target.path(), c"nr_inodes=3") else {
        crate::os::skipped::skipped("mounting a file system is not permitted here");
        return;
    };
    let error = RunDir::create(target.path(), "x").unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
    assert!(names(target.path()).is_empty());
}

#[test]
fn what_a_failed_removal_leaves_is_still_ours() {
    let target = tempfile::tempdir().unwrap();
    let run = RunDir::create(target.path(), "x").unwrap();
    let dir = target.path().join(run.name());
    fs::create_dir(run.path().join("mount")).unwrap();
    for mount in [run.path().join("mount"), run.path()] {
        let Some(mounted) = Mounted::tmpfs(&mount, c"size=64k") else {
            crate::os::skipped::skipped("mounting a file system is not permitted here");
            return;
        };
        fs::write(mount.join("precious"), "x").unwrap();
        let left = remove_at(run.target.as_raw_fd(), &run.name, run.dir.as_raw_fd()).unwrap_err();
        assert_eq!(left[0].errno, Errno(libc::EXDEV), "{left:?}");
        assert!(dir.join(".ioscore-run").exists() && mount.join("precious").exists());
        assert_eq!(states(target.path())[0].1, CleanedState::StillRunning);
        drop(mounted);
        fs::create_dir_all(run.path().join("mount")).unwrap();
    }
    // Its own name is taken by a mount: it cannot go, and gets its marker back.
    let marker = fs::read(dir.join(".ioscore-run")).unwrap();
    let Some(mounted) = Mounted::tmpfs(&dir, c"size=64k") else { return };
    let inside = fs::File::open(&dir).unwrap();
    fs::write(dir.join(".ioscore-run"), &marker).unwrap();
    let left = remove_at(run.target.as_raw_fd(), &run.name, inside.as_raw_fd()).unwrap_err();
    assert_eq!(left, [Left { path: ".".into(), errno: Errno(libc::EBUSY) }]);
    assert_eq!(fs::read(dir.join(".ioscore-run")).unwrap(), marker);
    drop((inside, mounted));
    run.remove().unwrap();
    assert!(names(target.path()).is_empty());
}
