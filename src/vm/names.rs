//! File names: rendered from segments when needed, the same every time for the same member.

use super::random::spread;
use crate::plan::instr::{Align, Segment, Spec};

/// What the segments of one name are filled from.
#[derive(Clone, Copy, Debug, Default)]
pub struct NameFacts {
    /// Running number, from 1.
    pub number: u64,
    /// Worker, from 0.
    pub worker: u64,
    /// Seconds since 1970.
    pub clock: u64,
    /// Key of this name's random characters.
    pub key: u64,
}

const CHARACTERS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

fn number(out: &mut Vec<u8>, value: u64, spec: Spec) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = value;
    loop {
        at -= 1;
        let digit = CHARACTERS[(rest % u64::from(spec.radix)) as usize];
        digits[at] = if spec.upper { digit } else { digit.to_ascii_lowercase() };
        rest /= u64::from(spec.radix);
        if rest == 0 {
            break;
        }
    }
    let digits = &digits[at..];
    let padding = usize::from(spec.width).saturating_sub(digits.len());
    let before = match spec.align {
        Align::Left => 0,
        Align::Right => padding,
        Align::Center => padding / 2,
    };
    out.extend(std::iter::repeat_n(spec.fill, before));
    out.extend_from_slice(digits);
    out.extend(std::iter::repeat_n(spec.fill, padding - before));
}

/// `count` characters of the first `radix` of `0-9A-Z`, the same for the same key.
fn random(out: &mut Vec<u8>, count: u32, radix: u64, key: u64) {
    // Eight characters a draw keep the bias below 36^8 / 2^64 = 2e-7.
    let mut bits = 0;
    for i in 0..count {
        if i % 8 == 0 {
            bits = spread(key ^ spread(u64::from(i / 8) + 1));
        }
        out.push(CHARACTERS[(bits % radix) as usize]);
        bits /= radix;
    }
}

/// Appends the name (no terminating zero).
pub fn render(segments: &[Segment], facts: NameFacts, out: &mut Vec<u8>) {
    for (i, segment) in segments.iter().enumerate() {
        match segment {
            Segment::Literal(text) => out.extend_from_slice(text),
            Segment::Number(spec) => number(out, facts.number, *spec),
            Segment::Worker(spec) => number(out, facts.worker, *spec),
            Segment::Clock(spec) => number(out, facts.clock, *spec),
            Segment::Random(count) => random(out, *count, 36, facts.key ^ spread(i as u64)),
            Segment::Digits(count) => random(out, *count, 10, facts.key ^ spread(i as u64)),
        }
    }
}

/// The longest name in bytes these segments can give.
pub fn longest(segments: &[Segment]) -> usize {
    let spec = |spec: &Spec, digits: usize| usize::from(spec.width).max(digits);
    segments
        .iter()
        .map(|segment| match segment {
            Segment::Literal(text) => text.len(),
            Segment::Number(s) | Segment::Worker(s) | Segment::Clock(s) => spec(s, 10),
            Segment::Random(count) | Segment::Digits(count) => *count as usize,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(segments: &[Segment], facts: NameFacts) -> String {
        let mut out = Vec::new();
        render(segments, facts, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_padded_as_the_spec_says() {
        let facts = NameFacts { number: 42, clock: 0x5dca_f00d, ..NameFacts::default() };
        let spec = |radix, fill, align, width| Spec { radix, upper: false, fill, align, width };
        assert_eq!(text(&[Segment::Number(spec(10, b'0', Align::Right, 5))], facts), "00042");
        assert_eq!(text(&[Segment::Number(spec(16, b'0', Align::Right, 2))], facts), "2a");
        assert_eq!(text(&[Segment::Clock(spec(16, b'~', Align::Left, 16))], facts), "5dcaf00d~~~~~~~~");
        assert_eq!(text(&[Segment::Number(spec(10, b'.', Align::Center, 5))], facts), ".42..");
        assert_eq!(text(&[Segment::Number(spec(10, b' ', Align::Right, 0))], facts), "42");
    }

    #[test]
    fn random_parts_follow_from_their_key() {
        let name = |key| text(&[Segment::Random(24)], NameFacts { key, ..NameFacts::default() });
        assert_eq!(name(1), name(1));
        assert_ne!(name(1), name(2));
        assert_eq!(name(1).len(), 24);
        let digits = text(&[Segment::Digits(16)], NameFacts { key: 7, ..NameFacts::default() });
        assert!(digits.bytes().all(|b| b.is_ascii_digit()), "{digits}");
    }

    #[test]
    fn digits_are_a_field_of_fixed_width_in_which_each_is_as_likely_as_the_others() {
        let mut seen = [[0u32; 10]; 4];
        for key in 0..10_000 {
            let digits = text(&[Segment::Digits(4)], NameFacts { key: spread(key), ..NameFacts::default() });
            assert_eq!(digits.len(), 4);
            for (place, digit) in digits.bytes().enumerate() {
                seen[place][usize::from(digit - b'0')] += 1;
            }
        }
        // Five standard deviations of 10000 draws of one in ten. The first may be 0 like any other.
        assert!(seen.iter().flatten().all(|n| n.abs_diff(1000) < 150), "{seen:?}");
    }
}
