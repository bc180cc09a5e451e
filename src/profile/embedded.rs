//! The profiles and suites that come with the program.

/// A file and its text.
pub type File = (&'static str, &'static str);

macro_rules! files {
    ($dir:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../", $dir, "/", $name, ".yaml")))),*]
    };
}

/// By id, sorted: one entry a file of `profiles/`.
pub const PROFILES: &[File] = files!("profiles":
    "backup-target",
    "compilebench",
    "database-log",
    "dbench",
    "dbench-mix",
    "dd",
    "dd-method",
    "file-server",
    "fio",
    "fs-mark",
    "log-writes",
    "mail-server",
    "metadata-storm",
    "mixed-office",
    "photo-import",
    "postmark",
    "sqlite-insert",
    "streaming",
    "untar",
    "vm-images",
    "web-server",
);

/// By id, sorted: one entry a file of `suites/`.
pub const SUITES: &[File] = files!("suites": "nas-filesystems", "nas-library", "pts-disk-1.3", "slog");

/// The text of an entry.
pub fn text(files: &[File], id: &str) -> Option<&'static str> {
    files.iter().find(|file| file.0 == id).map(|file| file.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_those_of_the_directories() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        for (dir, files) in [("profiles", PROFILES), ("suites", SUITES)] {
            let entries = std::fs::read_dir(root.join(dir)).into_iter().flatten().flatten();
            let mut there: Vec<String> = entries
                .filter_map(|entry| entry.file_name().into_string().ok())
                .filter_map(|name| name.strip_suffix(".yaml").map(str::to_string))
                .collect();
            there.sort();
            let listed: Vec<&str> = files.iter().map(|file| file.0).collect();
            assert_eq!(listed, there, "src/profile/embedded.rs and {dir}/ differ");
        }
        assert!(!PROFILES.is_empty());
    }

    #[test]
    fn no_profile_hides_a_suite() {
        assert!(!SUITES.is_empty());
        for (id, _) in SUITES {
            assert!(text(PROFILES, id).is_none(), "{id} is a profile and a suite");
        }
    }
}
