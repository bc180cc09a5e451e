//! What C's buffered files hold back and ask for: the size of their buffer and of the calls that follow
//! from it. Knows no steps.

use super::worker::Worker;
use crate::os::{Call, Errno, Os, Stat};
use crate::plan::instr::SetId;

/// The buffer of the common C library (`BUFSIZ`, 8192 bytes): a file's preferred block is taken only
/// where it is smaller.
const BUFFER: u32 = 8192;

/// The buffer of a file, in bytes.
pub fn buffer(stat: &Stat) -> u64 {
    u64::from(if stat.block == 0 { BUFFER } else { stat.block.min(BUFFER) })
}

/// What is asked for when so many bytes are wanted: whole buffers, or one.
pub fn rest(wanted: u64, buffer: u64) -> u64 {
    if wanted < buffer { buffer } else { wanted - wanted % buffer }
}

impl<O: Os> Worker<O> {
    /// Writes out so many bytes of what was written to the file in hand last.
    pub fn write_buffered(&mut self, set: SetId, len: u64) -> Call<()> {
        let fd = self.hands[usize::from(set)].file.fd;
        let recipe = self.last_stdio.1;
        let mut done = 0;
        while done < len {
            let n = (len - done) as usize;
            let data = self.buffers.data(if O::BYTES { recipe } else { Default::default() }, n);
            match self.os.write(fd, None, data, recipe)? {
                0 => return Err(Errno(libc::EIO)),
                n => done += n as u64,
            }
        }
        let file = &mut self.hands[usize::from(set)].file;
        file.cursor = if file.append { file.size + len } else { file.cursor + len };
        file.size = file.size.max(file.cursor);
        Ok(())
    }

    /// Writes out what is held back before a close or a sync; counted with the step that wrote it.
    pub fn flush_buffered(&mut self, set: SetId) -> Call<()> {
        let pending = u64::from(self.hands[usize::from(set)].file.stdio_pending);
        if pending == 0 {
            return Ok(());
        }
        self.hands[usize::from(set)].file.stdio_pending = 0;
        self.write_buffered(set, pending)?;
        let stat = self.last_stdio.0;
        self.finish(stat, pending, pending);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_block_of_the_file_system_does_not_make_a_larger_buffer() {
        let of = |block| buffer(&Stat { size: 0, block, allocated: 0, directory: false, symlink: false });
        assert_eq!([0, 512, 4096, 8192, 131_072].map(of), [8192, 512, 4096, 8192, 8192]);
    }

    #[test]
    fn whole_buffers_are_asked_for_and_never_less_than_one() {
        assert_eq!(
            [1, 4095, 4096, 10_000, 262_143].map(|n| rest(n, 4096)),
            [4096, 4096, 4096, 8192, 258_048]
        );
    }
}
