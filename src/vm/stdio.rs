//! What C's buffered files hold back and ask for: the size of their buffer and of the calls that follow
//! from it. Knows neither steps nor files in hand.

use crate::os::Stat;

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
