//! What a path may be: relative, and without a way up.
//!
//! Both machines hold every path against the same rule before they use it. It looks at the text
//! only; whether a component is a symbolic link is for the machine to find out.

use super::machine::{Call, Errno};
use std::ffi::CStr;

/// Longest name of one component in bytes (`NAME_MAX`).
pub const NAME_MAX: usize = 255;
/// Longest path in bytes, its final NUL counted (`PATH_MAX`).
pub const PATH_MAX: usize = 4096;

/// Whether a path is one bare name (no `/` in it).
///
/// # Errors
/// `ENOENT` for an empty path, `ENAMETOOLONG` for one of [`PATH_MAX`] bytes, `EXDEV` for one that
/// starts at `/` or has a component `..`.
#[inline]
pub fn is_bare(path: &CStr) -> Call<bool> {
    let bytes = path.to_bytes();
    if bytes.len() >= PATH_MAX {
        return Err(Errno(libc::ENAMETOOLONG));
    }
    if !bytes.contains(&b'/') {
        return match bytes {
            b"" => Err(Errno(libc::ENOENT)),
            b".." => Err(Errno(libc::EXDEV)),
            _ => Ok(true),
        };
    }
    if bytes.starts_with(b"/") || bytes.split(|b| *b == b'/').any(|part| part == b"..") {
        return Err(Errno(libc::EXDEV));
    }
    Ok(false)
}

/// A path of several components, cut before the last one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut<'a> {
    /// Everything before the last component; empty where there is nothing.
    pub parent: &'a [u8],
    /// The last component without slashes behind it.
    pub last: &'a [u8],
    /// Where `last` starts in the path.
    pub at: usize,
    /// Whether slashes follow the last component: it must be a directory then.
    pub slash: bool,
}

/// Cuts a path that [`is_bare`] has let through.
pub fn cut(path: &CStr) -> Cut<'_> {
    let bytes = path.to_bytes();
    let end = bytes.iter().rposition(|b| *b != b'/').map_or(0, |at| at + 1);
    let trimmed = bytes.get(..end).unwrap_or_default();
    let at = trimmed.iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
    let (parent, last) = trimmed.split_at(at);
    Cut { parent, last, at, slash: end < bytes.len() }
}

/// The components of a path or of a part of one, empty ones (`a//b`) left out.
pub fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|b| *b == b'/').filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_relative_paths_without_a_way_up() {
        for (path, wanted) in [
            (c"a", Ok(true)),
            (c".", Ok(true)),
            (c"...", Ok(true)),
            (c"..a", Ok(true)),
            (c"a/b", Ok(false)),
            (c"a/", Ok(false)),
            (c"a/..b/c..", Ok(false)),
            (c"", Err(libc::ENOENT)),
            (c"..", Err(libc::EXDEV)),
            (c"/", Err(libc::EXDEV)),
            (c"/etc", Err(libc::EXDEV)),
            (c"a/..", Err(libc::EXDEV)),
            (c"../a", Err(libc::EXDEV)),
            (c"a/../b", Err(libc::EXDEV)),
            (c"a//..//", Err(libc::EXDEV)),
        ] {
            assert_eq!(is_bare(path), wanted.map_err(Errno), "{path:?}");
        }
    }

    #[test]
    fn cuts_before_the_last_component() {
        let parts = |path| {
            let cut = cut(path);
            (cut.parent, cut.last, cut.at, cut.slash)
        };
        assert_eq!(parts(c"a/b"), (&b"a/"[..], &b"b"[..], 2, false));
        assert_eq!(parts(c"a//b"), (&b"a//"[..], &b"b"[..], 3, false));
        assert_eq!(parts(c"a/b//"), (&b"a/"[..], &b"b"[..], 2, true));
        assert_eq!(parts(c"a/"), (&b""[..], &b"a"[..], 0, true));
        assert_eq!(parts(c"a"), (&b""[..], &b"a"[..], 0, false));
        assert_eq!(components(b"a//b/./c/").collect::<Vec<_>>(), [&b"a"[..], b"b", b".", b"c"]);
    }
}
