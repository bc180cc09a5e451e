//! Open files on the simulated disk: reading, writing, giving out and taking back space.
//!
//! Which descriptor stands for which inode, and whether it may be written, the worker has seen to.

use super::content::{BLOCK, LARGEST};
use super::disk::{Body, Disk, Ino};
use crate::os::machine::{Call, Errno, Recipe, Space};

impl Disk {
    /// Bytes that a read gets.
    #[inline]
    pub fn read(&self, ino: Ino, at: u64, len: u64) -> Call<u64> {
        let inode = self.inode(ino)?;
        match inode.body {
            Body::File(_) => Ok(inode.size.saturating_sub(at).min(len)),
            _ => Err(Errno(libc::EISDIR)),
        }
    }

    /// Writes; fewer bytes than asked for where space runs out on the way.
    #[inline]
    pub fn write(&mut self, ino: Ino, at: u64, len: u64, recipe: Recipe) -> Call<u64> {
        if len == 0 {
            return Ok(0);
        }
        if at >= LARGEST {
            return Err(Errno(libc::EFBIG));
        }
        let end = at.saturating_add(len).min(LARGEST);
        let (inode, free) = self.file_mut(ino)?;
        let Body::File(content) = &mut inode.body else { return Err(Errno(libc::EISDIR)) };
        if let Some(added) = content.extend(at, end, recipe, free) {
            inode.size = inode.size.max(end);
            self.blocks_used += added;
            self.written += end - at;
            return Ok(end - at);
        }
        self.write_anywhere(ino, at, end, recipe)
    }

    fn write_anywhere(&mut self, ino: Ino, at: u64, end: u64, recipe: Recipe) -> Call<u64> {
        let (inode, free) = self.file_mut(ino)?;
        let Body::File(content) = &mut inode.body else { return Err(Errno(libc::EISDIR)) };
        let end = if content.cost(at, end) > free { content.reach(at, end, free) } else { end };
        if end <= at {
            return Err(Errno(libc::ENOSPC));
        }
        let added = content.set(at, end, recipe);
        inode.size = inode.size.max(end);
        self.blocks_used += added;
        self.written += end - at;
        Ok(end - at)
    }

    /// `EINVAL` for what has no size to set, `EFBIG` for more than a file can have.
    pub fn truncate(&mut self, ino: Ino, size: u64) -> Call<()> {
        if size > LARGEST {
            return Err(Errno(libc::EFBIG));
        }
        let inode = self.inode_mut(ino)?;
        let Body::File(content) = &mut inode.body else { return Err(Errno(libc::EINVAL)) };
        let freed = content.clear(size, LARGEST);
        inode.size = size;
        self.blocks_used -= freed;
        Ok(())
    }

    /// `fallocate`: `ENODEV` for what is no file, `EFBIG` for a range beyond the largest size, `ENOSPC`.
    pub fn allocate(&mut self, ino: Ino, how: Space, offset: u64, len: u64) -> Call<()> {
        let end = offset.saturating_add(len);
        if end > LARGEST {
            return Err(Errno(libc::EFBIG));
        }
        let (inode, free) = self.file_mut(ino)?;
        let Body::File(content) = &mut inode.body else { return Err(Errno(libc::ENODEV)) };
        if how == Space::Punch {
            let before = content.blocks();
            // Whole blocks are freed, parts of blocks become zeros.
            let (first, last) = (offset.next_multiple_of(BLOCK), end / BLOCK * BLOCK);
            if first < last {
                content.zero(offset, first);
                content.clear(first, last);
                content.zero(last, end);
            } else {
                content.zero(offset, end);
            }
            self.blocks_used -= before - content.blocks();
            return Ok(());
        }
        if content.cost(offset, end) > free {
            return Err(Errno(libc::ENOSPC));
        }
        let before = content.blocks();
        if how == Space::Zero {
            content.set(offset, end, Recipe::Zero);
        } else {
            let mut at = offset;
            for part in content.parts(offset, end) {
                if part.start > at {
                    content.set(at, part.start, Recipe::Zero);
                }
                at = part.end;
            }
            if at < end {
                content.set(at, end, Recipe::Zero);
            }
        }
        if how != Space::KeepSize {
            inode.size = inode.size.max(end);
        }
        self.blocks_used += content.blocks() - before;
        Ok(())
    }

    /// Copies recipes; holes arrive as zeros.
    pub fn copy(&mut self, from: Ino, at: u64, to: Ino, to_at: u64, len: u64) -> Call<u64> {
        let inode = self.inode(from)?;
        let Body::File(content) = &inode.body else { return Err(Errno(libc::EISDIR)) };
        let len = inode.size.saturating_sub(at).min(len);
        if from == to && to_at < at.saturating_add(len) && at < to_at.saturating_add(len) {
            return Err(Errno(libc::EINVAL));
        }
        let parts = content.parts(at, at + len);
        let mut done = 0;
        for part in parts {
            let gap = part.start - at - done;
            let steps = [(gap, Recipe::Zero), (part.end - part.start, part.recipe)];
            for (bytes, recipe) in steps.into_iter().filter(|step| step.0 > 0) {
                done += match self.write(to, to_at + done, bytes, recipe) {
                    Ok(written) if written == bytes => written,
                    Ok(written) => return Ok(done + written),
                    Err(_) if done > 0 => return Ok(done),
                    Err(errno) => return Err(errno),
                };
            }
        }
        if done < len {
            done += self.write(to, to_at + done, len - done, Recipe::Zero)?;
        }
        Ok(done)
    }
}
