//! The memory of a queue: page-aligned slots that the kernel reads from and writes to while a
//! transfer is in flight, and that nobody else touches in that time.

use crate::os::machine::{Call, Errno};

/// Slots of one length. The memory goes away with it: whoever hands addresses to a kernel must
/// have them back before.
pub struct Slots {
    base: *mut u8,
    len: usize,
    busy: Vec<bool>,
}

// SAFETY: the memory belongs to this value alone and moves with it.
unsafe impl Send for Slots {}

impl Slots {
    /// None.
    pub const fn none() -> Slots {
        Slots { base: std::ptr::null_mut(), len: 0, busy: Vec::new() }
    }

    /// So many slots of `len` bytes, a multiple of the page size.
    pub fn new(count: u32, len: usize) -> Call<Slots> {
        let bytes = len.checked_mul(count as usize).filter(|bytes| *bytes > 0).ok_or(Errno(libc::EINVAL))?;
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(super::super::calls::last());
        }
        Ok(Slots { base: base.cast(), len, busy: vec![false; count as usize] })
    }

    /// Address and bytes of all slots together.
    pub fn region(&self) -> (*mut u8, usize) {
        (self.base, self.len * self.busy.len())
    }

    /// The memory of a slot that is not in flight; empty where it is, or is none.
    #[inline]
    pub fn get(&mut self, slot: u32) -> &mut [u8] {
        match self.busy.get(slot as usize) {
            // SAFETY: the slot is inside the mapping, the kernel is done with it, and the borrow of
            // `self` keeps all others away.
            Some(false) => unsafe {
                std::slice::from_raw_parts_mut(self.base.add(slot as usize * self.len), self.len)
            },
            _ => &mut [],
        }
    }

    /// The address of a slot that is in flight from now on; `EINVAL` where it is already, or is too
    /// short.
    #[inline]
    pub fn claim(&mut self, slot: u32, len: u32) -> Call<*mut u8> {
        match self.busy.get_mut(slot as usize) {
            Some(busy) if !*busy && len as usize <= self.len => {
                *busy = true;
                Ok(self.base.wrapping_add(slot as usize * self.len))
            }
            _ => Err(Errno(libc::EINVAL)),
        }
    }

    /// The kernel is done with it.
    #[inline]
    pub fn release(&mut self, slot: u32) {
        if let Some(busy) = self.busy.get_mut(slot as usize) {
            *busy = false;
        }
    }

    /// Gives the memory up without giving it back: the kernel may still write to it.
    pub fn leak(&mut self) {
        self.base = std::ptr::null_mut();
        self.busy.clear();
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        let (base, bytes) = self.region();
        if bytes > 0 {
            // SAFETY: the mapping is this value's own, and nothing is in flight any more.
            unsafe { libc::munmap(base.cast(), bytes) };
        }
    }
}
