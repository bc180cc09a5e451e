//! Names and texts of the error numbers of Linux.
//!
//! A table and three look-ups; it knows neither where an error came from nor how it is shown.
//! The table is searched from its start: errors are named when they are reported, never when
//! they happen.

use super::machine::Errno;

/// One row for every error number: its value, its name, what it says.
macro_rules! table {
    ($($name:ident: $text:literal,)*) => {
        const TABLE: &[(i32, &str, &str)] = &[$((libc::$name, stringify!($name), $text)),*];
    };
}

/// Second names of numbers the table has under another name.
const ALIASES: &[(&str, i32)] = &[
    ("EWOULDBLOCK", libc::EWOULDBLOCK),
    ("EDEADLOCK", libc::EDEADLK),
    ("ENOTSUP", libc::ENOTSUP),
    ("ENOATTR", libc::ENODATA),
];

/// `ENOSPC`; `None` for a number this table does not know.
pub fn name(errno: Errno) -> Option<&'static str> {
    TABLE.iter().find(|row| row.0 == errno.0).map(|row| row.1)
}

/// `no space left on device`.
pub fn text(errno: Errno) -> &'static str {
    TABLE.iter().find(|row| row.0 == errno.0).map_or("unknown error", |row| row.2)
}

/// The number behind a name (`ENOSPC`, in capitals); `None` for a name this table does not know.
pub fn parse(name: &str) -> Option<Errno> {
    let row = TABLE.iter().find(|row| row.1 == name).map(|row| row.0);
    row.or_else(|| ALIASES.iter().find(|alias| alias.0 == name).map(|alias| alias.1)).map(Errno)
}

/// Every name [`parse`] takes, for lists and for finding the nearest one to a misspelling.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|row| row.1).chain(ALIASES.iter().map(|alias| alias.0))
}

table! {
    EPERM: "operation not permitted",
    ENOENT: "no such file or directory",
    ESRCH: "no such process",
    EINTR: "interrupted system call",
    EIO: "input/output error",
    ENXIO: "no such device or address",
    E2BIG: "argument list too long",
    ENOEXEC: "exec format error",
    EBADF: "bad file descriptor",
    ECHILD: "no child processes",
    EAGAIN: "resource temporarily unavailable",
    ENOMEM: "cannot allocate memory",
    EACCES: "permission denied",
    EFAULT: "bad address",
    ENOTBLK: "block device required",
    EBUSY: "device or resource busy",
    EEXIST: "file exists",
    EXDEV: "the names are on different file systems, or the path leaves its directory",
    ENODEV: "no such device",
    ENOTDIR: "not a directory",
    EISDIR: "is a directory",
    EINVAL: "invalid argument",
    ENFILE: "too many open files in system",
    EMFILE: "too many open files",
    ENOTTY: "inappropriate ioctl for device",
    ETXTBSY: "text file busy",
    EFBIG: "file too large",
    ENOSPC: "no space left on device",
    ESPIPE: "illegal seek",
    EROFS: "read-only file system",
    EMLINK: "too many links",
    EPIPE: "broken pipe",
    EDOM: "numerical argument out of domain",
    ERANGE: "numerical result out of range",
    EDEADLK: "resource deadlock avoided",
    ENAMETOOLONG: "file name too long",
    ENOLCK: "no locks available",
    ENOSYS: "function not implemented",
    ENOTEMPTY: "directory not empty",
    ELOOP: "a symbolic link is on the way, or too many of them",
    ENOMSG: "no message of desired type",
    EIDRM: "identifier removed",
    ECHRNG: "channel number out of range",
    EL2NSYNC: "level 2 not synchronized",
    EL3HLT: "level 3 halted",
    EL3RST: "level 3 reset",
    ELNRNG: "link number out of range",
    EUNATCH: "protocol driver not attached",
    ENOCSI: "no CSI structure available",
    EL2HLT: "level 2 halted",
    EBADE: "invalid exchange",
    EBADR: "invalid request descriptor",
    EXFULL: "exchange full",
    ENOANO: "no anode",
    EBADRQC: "invalid request code",
    EBADSLT: "invalid slot",
    EBFONT: "bad font file format",
    ENOSTR: "device not a stream",
    ENODATA: "no data available",
    ETIME: "timer expired",
    ENOSR: "out of streams resources",
    ENONET: "machine is not on the network",
    ENOPKG: "package not installed",
    EREMOTE: "object is remote",
    ENOLINK: "link has been severed",
    EADV: "advertise error",
    ESRMNT: "srmount error",
    ECOMM: "communication error on send",
    EPROTO: "protocol error",
    EMULTIHOP: "multihop attempted",
    EDOTDOT: "RFS specific error",
    EBADMSG: "bad message",
    EOVERFLOW: "value too large for defined data type",
    ENOTUNIQ: "name not unique on network",
    EBADFD: "file descriptor in bad state",
    EREMCHG: "remote address changed",
    ELIBACC: "cannot access a needed shared library",
    ELIBBAD: "accessing a corrupted shared library",
    ELIBSCN: ".lib section in a.out corrupted",
    ELIBMAX: "attempting to link in too many shared libraries",
    ELIBEXEC: "cannot execute a shared library directly",
    EILSEQ: "invalid or incomplete multibyte or wide character",
    ERESTART: "interrupted system call should be restarted",
    ESTRPIPE: "streams pipe error",
    EUSERS: "too many users",
    ENOTSOCK: "socket operation on non-socket",
    EDESTADDRREQ: "destination address required",
    EMSGSIZE: "message too long",
    EPROTOTYPE: "protocol wrong type for socket",
    ENOPROTOOPT: "protocol not available",
    EPROTONOSUPPORT: "protocol not supported",
    ESOCKTNOSUPPORT: "socket type not supported",
    EOPNOTSUPP: "operation not supported",
    EPFNOSUPPORT: "protocol family not supported",
    EAFNOSUPPORT: "address family not supported by protocol",
    EADDRINUSE: "address already in use",
    EADDRNOTAVAIL: "cannot assign requested address",
    ENETDOWN: "network is down",
    ENETUNREACH: "network is unreachable",
    ENETRESET: "network dropped connection on reset",
    ECONNABORTED: "software caused connection abort",
    ECONNRESET: "connection reset by peer",
    ENOBUFS: "no buffer space available",
    EISCONN: "transport endpoint is already connected",
    ENOTCONN: "transport endpoint is not connected",
    ESHUTDOWN: "cannot send after transport endpoint shutdown",
    ETOOMANYREFS: "too many references: cannot splice",
    ETIMEDOUT: "connection timed out",
    ECONNREFUSED: "connection refused",
    EHOSTDOWN: "host is down",
    EHOSTUNREACH: "no route to host",
    EALREADY: "operation already in progress",
    EINPROGRESS: "operation now in progress",
    ESTALE: "stale file handle",
    EUCLEAN: "structure needs cleaning",
    ENOTNAM: "not a XENIX named type file",
    ENAVAIL: "no XENIX semaphores available",
    EISNAM: "is a named type file",
    EREMOTEIO: "remote I/O error",
    EDQUOT: "disk quota exceeded",
    ENOMEDIUM: "no medium found",
    EMEDIUMTYPE: "wrong medium type",
    ECANCELED: "operation canceled",
    ENOKEY: "required key not available",
    EKEYEXPIRED: "key has expired",
    EKEYREVOKED: "key has been revoked",
    EKEYREJECTED: "key was rejected by service",
    EOWNERDEAD: "owner died",
    ENOTRECOVERABLE: "state not recoverable",
    ERFKILL: "operation not possible due to RF-kill",
    EHWPOISON: "memory page has a hardware error",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_one_name_and_comes_back_from_it() {
        assert_eq!(TABLE.len(), 131);
        for (at, row) in TABLE.iter().enumerate() {
            assert_eq!(parse(row.1), Some(Errno(row.0)), "{}", row.1);
            assert_eq!(name(Errno(row.0)), Some(row.1));
            assert!(TABLE[at + 1..].iter().all(|other| other.0 != row.0), "{} twice", row.0);
            let first = row.2.split(' ').next().unwrap();
            assert!(first == first.to_lowercase() || first == "RFS", "{}", row.2);
        }
    }

    #[test]
    fn all_numbers_the_kernel_uses_are_known() {
        // 41 and 58 were never given out (EWOULDBLOCK and EDEADLOCK of other machines).
        let missing: Vec<i32> = (1..=133).filter(|n| name(Errno(*n)).is_none()).collect();
        assert_eq!(missing, [41, 58]);
    }

    #[test]
    fn second_names_and_unknown_ones() {
        assert_eq!(parse("EWOULDBLOCK"), Some(Errno(libc::EAGAIN)));
        assert_eq!(parse("ENOTSUP"), Some(Errno(libc::EOPNOTSUPP)));
        assert_eq!(parse("ENOSPACE"), None);
        assert_eq!(parse("enospc"), None);
        assert_eq!(name(Errno(4095)), None);
        assert_eq!(text(Errno(4095)), "unknown error");
        assert_eq!(Errno(libc::ENOSPC).to_string(), "ENOSPC (no space left on device)");
        assert_eq!(Errno(4095).to_string(), "errno 4095 (unknown error)");
        assert!(names().any(|name| name == "EWOULDBLOCK"));
    }
}
