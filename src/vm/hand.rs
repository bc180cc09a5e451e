//! What a worker has in hand for one set: an open file or just a member.

use super::pool::{Member, NONE};
use crate::os::Fd;

/// No descriptor.
pub const CLOSED: Fd = -1;

/// One file as a worker sees it.
#[derive(Clone, Copy, Debug)]
pub struct OpenFile {
    /// Place in the set's pool; [`NONE`] without a file.
    pub slot: u32,
    /// The member as the pool knew it when it was taken.
    pub member: Member,
    /// Descriptor, [`CLOSED`] while it is not open.
    pub fd: Fd,
    /// Bytes, kept up to date by this worker's own writes.
    pub size: u64,
    /// Where the last transfer ended.
    pub cursor: u64,
    /// Where the last read and the last write ended that went each way (`at: each_way`).
    pub ways: [u64; 2],
    /// Transfers name their offset, because some transfer of this file does.
    pub positional: bool,
    /// Writes go to the end whatever the position.
    pub append: bool,
    /// Transfers as C's buffered files make them.
    pub stdio: bool,
    /// Block of `stdio` in bytes; 0 until the first transfer has asked for it.
    pub stdio_block: u32,
    /// Bytes `stdio` holds back from being written.
    pub stdio_pending: u32,
    /// Bytes `stdio` has read and not yet given out.
    pub stdio_ready: u32,
    /// Visited blocks of a permutation.
    pub visited: u64,
    /// Which permutation of the blocks is walked.
    pub permutation: u64,
}

impl OpenFile {
    /// A member in hand that is not open yet.
    pub fn of(slot: u32, member: Member) -> OpenFile {
        OpenFile {
            slot,
            member,
            fd: CLOSED,
            size: member.size,
            cursor: 0,
            ways: [0; 2],
            positional: false,
            append: false,
            stdio: false,
            stdio_block: 0,
            stdio_pending: 0,
            stdio_ready: 0,
            visited: 0,
            permutation: 0,
        }
    }

    /// After a transfer of `len` bytes at `offset` (`None`: at the file's own position).
    #[inline]
    pub fn moved<const WRITE: bool>(&mut self, offset: Option<u64>, len: u64) {
        let start = if WRITE && self.append { self.size } else { offset.unwrap_or(self.cursor) };
        self.cursor = start + len;
        if WRITE && self.cursor > self.size {
            self.size = self.cursor;
        }
    }

    /// Whether it has a descriptor.
    pub fn is_open(&self) -> bool {
        self.fd != CLOSED
    }
}

/// A worker's hand for one set.
#[derive(Clone, Debug)]
pub struct Hand {
    /// The file in hand; its slot is [`NONE`] when there is none.
    pub file: OpenFile,
    /// Files the set keeps open for this worker; the one in hand is among them.
    pub kept: Vec<OpenFile>,
    /// Index of the file in hand in `kept`.
    pub kept_at: usize,
}

impl Default for Hand {
    fn default() -> Hand {
        Hand { file: OpenFile::of(NONE, Member::default()), kept: Vec::new(), kept_at: 0 }
    }
}

impl Hand {
    /// Whether no file is in hand.
    pub fn is_empty(&self) -> bool {
        self.file.slot == NONE
    }

    /// Takes another of the kept files in hand.
    pub fn switch_kept(&mut self, to: usize) {
        if to == self.kept_at {
            return;
        }
        if let Some(next) = self.kept.get(to).copied() {
            if let Some(current) = self.kept.get_mut(self.kept_at) {
                *current = self.file;
            }
            self.file = next;
            self.kept_at = to;
        }
    }
}
