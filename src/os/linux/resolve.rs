//! Keeps every path beneath its directory: no absolute path, no `..`, no symbolic link.
//!
//! The kernel does it in one call (`openat2`, Linux 5.6); where it cannot, or a sandbox refuses
//! that call, the path is walked one component at a time with `O_NOFOLLOW`. Calls that take a
//! name get the name's parent resolved in the same way first. A bare name needs no care: its
//! directory is an open descriptor, so nothing above it can be swapped.

use super::calls::{self, Held};
use crate::os::machine::{Call, Errno, Fd};
use crate::os::path::{self, NAME_MAX, PATH_MAX};
use std::ffi::CStr;

const BENEATH: u64 = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_MAGICLINKS;
/// For a bare name: without `..` and symbolic links it leads nowhere but into its directory, so the
/// kernel need not find out afterwards, which takes it a tenth of an open.
const BARE: u64 = libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_MAGICLINKS;
const PARENT: i32 = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;

/// How paths are resolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resolver {
    /// By the kernel, in the opening call itself.
    Kernel,
    /// Component by component.
    Walk,
}

impl Resolver {
    /// Asks the kernel once, with the directory itself: `ENOSYS` is an old kernel, `EPERM` a
    /// sandbox that does not know the call. Later refusals are then about the file.
    pub fn probe(dir: Fd) -> Resolver {
        match calls::openat2(dir, c".", PARENT, 0, BENEATH) {
            Ok(fd) => {
                drop(Held(fd));
                Resolver::Kernel
            }
            Err(_) => Resolver::Walk,
        }
    }

    /// `openat2` or `walk`, for the record.
    pub fn name(self) -> &'static str {
        match self {
            Resolver::Kernel => "openat2",
            Resolver::Walk => "walk",
        }
    }

    /// Opens `path` beneath `dir`; the descriptor does not survive an `exec`.
    ///
    /// # Errors
    /// `EXDEV` for an absolute path or one with `..`, `ELOOP` for a symbolic link anywhere in
    /// it, and what `open(2)` lists.
    #[inline]
    pub fn open(self, dir: Fd, path: &CStr, flags: i32, mode: u32) -> Call<Fd> {
        let bare = path::is_bare(path)?;
        match self {
            Resolver::Kernel => {
                let resolve = if bare { BARE } else { BENEATH };
                calls::openat2(dir, path, flags | libc::O_CLOEXEC, mode, resolve)
            }
            // Older kernels made a file and then complained that it was no directory.
            Resolver::Walk
                if flags & (libc::O_CREAT | libc::O_DIRECTORY) == libc::O_CREAT | libc::O_DIRECTORY =>
            {
                Err(Errno(libc::EINVAL))
            }
            Resolver::Walk if bare => open_last(dir, path, flags, mode),
            Resolver::Walk => walk(dir, path, flags, mode),
        }
    }

    /// Runs `call` with the directory and the last name of a path, for calls that never follow
    /// the last name (`unlinkat`, `mkdirat`, `renameat`, `symlinkat`).
    #[inline]
    pub fn at<T>(self, dir: Fd, path: &CStr, call: impl FnOnce(Fd, &CStr) -> Call<T>) -> Call<T> {
        if path::is_bare(path)? {
            return call(dir, path);
        }
        let cut = path::cut(path);
        let parent = self.parent(dir, cut.parent)?;
        call(parent.as_ref().map_or(dir, |parent| parent.0), tail(path, cut.at)?)
    }

    /// The same for calls that follow a name with a slash behind it even where they were asked
    /// not to (`fstatat`, `utimensat`, `readlinkat`, `linkat`): such a name must be a directory,
    /// and the call sees it as `.` of itself.
    #[inline]
    pub fn at_object<T>(self, dir: Fd, path: &CStr, call: impl FnOnce(Fd, &CStr) -> Call<T>) -> Call<T> {
        if path::is_bare(path)? {
            return call(dir, path);
        }
        if !path::cut(path).slash {
            return self.at(dir, path, call);
        }
        let directory = Held(self.open(dir, path, PARENT, 0)?);
        call(directory.0, c".")
    }

    /// Opens the part of a path before its last name; `None` where there is none.
    fn parent(self, dir: Fd, parent: &[u8]) -> Call<Option<Held>> {
        if parent.is_empty() {
            return Ok(None);
        }
        match self {
            Resolver::Kernel => {
                let path = Text::<PATH_MAX>::new(parent)?;
                calls::openat2(dir, path.as_c_str()?, PARENT, 0, BENEATH).map(|fd| Some(Held(fd)))
            }
            Resolver::Walk => walk_down(dir, parent),
        }
    }
}

/// The last name of a path, with the slashes behind it.
fn tail(path: &CStr, at: usize) -> Call<&CStr> {
    let bytes = path.to_bytes_with_nul().get(at..).unwrap_or_default();
    CStr::from_bytes_with_nul(bytes).map_err(|_| Errno(libc::EINVAL))
}

fn walk(dir: Fd, path: &CStr, flags: i32, mode: u32) -> Call<Fd> {
    let cut = path::cut(path);
    let parent = walk_down(dir, cut.parent)?;
    let at = parent.as_ref().map_or(dir, |parent| parent.0);
    if !cut.slash {
        return open_last(at, tail(path, cut.at)?, flags, mode);
    }
    if flags & libc::O_CREAT != 0 {
        // Unless there is no directory to begin with.
        return calls::statat(at, c".").and(Err(Errno(libc::EISDIR)));
    }
    // Without its slash, which would make the kernel follow it.
    let name = Text::<{ NAME_MAX + 1 }>::new(cut.last)?;
    open_last(at, name.as_c_str()?, flags | libc::O_DIRECTORY, mode)
}

/// Opens one directory after the other; `None` where there are no components.
fn walk_down(dir: Fd, path: &[u8]) -> Call<Option<Held>> {
    let mut at: Option<Held> = None;
    for component in path::components(path) {
        let name = Text::<{ NAME_MAX + 1 }>::new(component)?;
        let above = at.as_ref().map_or(dir, |at| at.0);
        at = Some(Held(open_last(above, name.as_c_str()?, PARENT, 0)?));
    }
    Ok(at)
}

/// Opens a bare name without following it, with the error numbers of `openat2`.
#[inline]
fn open_last(dir: Fd, name: &CStr, flags: i32, mode: u32) -> Call<Fd> {
    match calls::openat(dir, name, flags | libc::O_NOFOLLOW | libc::O_CLOEXEC, mode) {
        // O_NOFOLLOW says of a symbolic link where a directory was wanted that it is none.
        Err(Errno(libc::ENOTDIR)) if calls::statat(dir, name).is_ok_and(|stat| stat.symlink) => {
            Err(Errno(libc::ELOOP))
        }
        // O_PATH with O_NOFOLLOW opens the symbolic link itself: fine where that was asked for.
        Ok(fd) if flags & (libc::O_PATH | libc::O_NOFOLLOW | libc::O_DIRECTORY) == libc::O_PATH => {
            let refused = calls::fstat(fd).map(|stat| stat.symlink);
            if refused == Ok(false) {
                return Ok(fd);
            }
            drop(Held(fd));
            Err(refused.err().unwrap_or(Errno(libc::ELOOP)))
        }
        answer => answer,
    }
}

/// A part of a path with a NUL behind it, on the stack.
struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Text<N> {
    fn new(part: &[u8]) -> Call<Self> {
        let mut bytes = [0; N];
        // One byte stays free for the NUL.
        let place = bytes.get_mut(..part.len()).filter(|_| part.len() < N);
        place.ok_or(Errno(libc::ENAMETOOLONG))?.copy_from_slice(part);
        Ok(Text { bytes, len: part.len() })
    }

    fn as_c_str(&self) -> Call<&CStr> {
        let bytes = self.bytes.get(..=self.len).unwrap_or_default();
        CStr::from_bytes_with_nul(bytes).map_err(|_| Errno(libc::EINVAL))
    }
}
