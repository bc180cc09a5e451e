//! Page-aligned memory for transfers.

/// Alignment of every transfer in memory, in bytes. Some file systems refuse direct I/O below a page.
const PAGE: usize = 4096;

/// Page-aligned memory of a fixed length. Untouched pages cost nothing.
pub struct Aligned {
    /// The first aligned byte of `memory`; kept so that a slice costs one comparison.
    base: *mut u8,
    len: usize,
    /// Owns the bytes, and is not looked at again.
    _memory: Vec<u8>,
}

// SAFETY: the bytes belong to this value alone; they are reached through its borrows only.
unsafe impl Send for Aligned {}
// SAFETY: as above; a shared borrow only reads.
unsafe impl Sync for Aligned {}

impl Aligned {
    /// Zeros, `len` bytes of them.
    pub fn zeroed(len: usize) -> Aligned {
        let mut memory = vec![0u8; len + PAGE];
        let start = memory.as_ptr().align_offset(PAGE);
        // `align_offset` may decline in principle; transfers are then merely unaligned.
        let start = if start > PAGE { 0 } else { start };
        let base = memory.as_mut_ptr().wrapping_add(start);
        Aligned { base, len, _memory: memory }
    }

    /// Usable bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no usable bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All usable bytes.
    #[inline(always)]
    fn all(&self) -> &[u8] {
        // SAFETY: `len` bytes from `base` lie inside the vector, which is never resized, and are
        // initialised; the borrow of `self` keeps writers away.
        unsafe { std::slice::from_raw_parts(self.base, self.len) }
    }

    /// `len` bytes from `from`; panics beyond the end.
    #[inline(always)]
    pub fn slice(&self, from: usize, len: usize) -> &[u8] {
        &self.all()[from..][..len]
    }

    /// `len` bytes from `from` to write to; panics beyond the end.
    #[inline(always)]
    pub fn slice_mut(&mut self, from: usize, len: usize) -> &mut [u8] {
        // SAFETY: as in `all`; the borrow is exclusive.
        let all = unsafe { std::slice::from_raw_parts_mut(self.base, self.len) };
        &mut all[from..][..len]
    }
}
