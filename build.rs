//! Notes whether the bundled SQLite is compiled with `fdatasync`, and warns where it is not.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=LIBSQLITE3_FLAGS");
    let flags = std::env::var("LIBSQLITE3_FLAGS").unwrap_or_default();
    if flags.contains("HAVE_FDATASYNC") {
        println!("cargo:rustc-env=IOSCORE_SQLITE_FDATASYNC=1");
    } else {
        println!(
            "cargo:warning=SQLite is compiled without fdatasync, its syncs will be fsync: build in the \
             directory of ioscore, or with LIBSQLITE3_FLAGS=-DHAVE_FDATASYNC"
        );
    }
}
