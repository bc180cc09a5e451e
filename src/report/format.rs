//! Numbers and units as people read them. Values come in base units (bytes, seconds, operations,
//! or one of them a second).

use crate::record::unit::factor;

/// A value of base units, counted in `unit`.
pub fn in_unit(base: f64, unit: &str) -> f64 {
    let factor = factor(unit);
    // 5.5e-6 / 1e-6 is not 5.5; 5.5e-6 * 1e6 is.
    if factor < 1.0 { base * (1.0 / factor).round() } else { base / factor }
}

/// Every digit of a number and no exponent: `0.000001`, `476`, `-5`.
pub fn full(value: f64) -> String {
    // A negative zero would show its sign.
    let value = if value == 0.0 { 0.0 } else { value };
    format!("{value}")
}

/// Three significant digits, four or more where the whole part has them: `96.7`, `0.0123`, `80773`.
pub fn short(value: f64) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    let decimals = |size: f64| match size {
        s if s >= 100.0 => 0,
        s if s >= 10.0 => 1,
        s if s >= 1.0 => 2,
        s if s > 0.0 => (2.0 - s.log10().floor()).clamp(0.0, 20.0) as usize,
        _ => 0,
    };
    // 9.999 would get the decimals of 9 and the digits of 10.
    let first = decimals(value.abs());
    let rounded: f64 = format!("{value:.first$}").parse().unwrap_or(value);
    let places = decimals(rounded.abs());
    let value = if rounded == 0.0 { 0.0 } else { value };
    format!("{value:.places$}")
}

/// A value in its unit, with the unit: `472 MiB/s`.
pub fn quantity(base: f64, unit: &str) -> String {
    let number = short(in_unit(base, unit));
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}

/// Powers of 1024 or of 1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// Powers of 1024: KiB, MiB.
    Binary,
    /// Powers of 1000: kB, MB.
    Decimal,
}

/// Bytes in the largest unit that leaves at least one: `1.00 MiB`, `1.05 MB`, `512 B`.
pub fn bytes(bytes: f64, base: Base) -> String {
    let (step, units) = match base {
        Base::Binary => (1024.0, ["B", "KiB", "MiB", "GiB", "TiB"]),
        Base::Decimal => (1000.0, ["B", "kB", "MB", "GB", "TB"]),
    };
    let (mut value, mut unit) = (bytes, 0);
    // Half a unit of the last digit shown decides, so that nothing prints as 1024 KiB.
    while value.abs() >= step - 0.5 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    format!("{} {}", short(value), units[unit])
}

/// Bytes a second in the largest unit that leaves at least one.
pub fn byte_rate(bytes_per_second: f64, base: Base) -> String {
    bytes(bytes_per_second, base) + "/s"
}

/// A span of time: `12.3 us`, `1.50 s`, `3 min 20 s`, `2 h 05 min`.
pub fn span(seconds: f64) -> String {
    let size = seconds.abs();
    match size {
        s if s >= 3600.0 => format!("{} h {:02} min", (s / 3600.0) as u64, (s % 3600.0 / 60.0) as u64),
        s if s >= 60.0 => format!("{} min {:02} s", (s / 60.0) as u64, (s % 60.0) as u64),
        s if s >= 1.0 || s == 0.0 => format!("{} s", short(seconds)),
        s if s >= 1e-3 => format!("{} ms", short(seconds * 1e3)),
        s if s >= 1e-6 => format!("{} us", short(seconds * 1e6)),
        _ => format!("{} ns", short(seconds * 1e9)),
    }
}

/// Text without control characters: what stands in somebody else's file must not steer a terminal.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: f64 = 1024.0;

    #[test]
    fn golden_rates() {
        for (value, binary, decimal) in [
            (900.0 * KIB, "900 KiB/s", "922 kB/s"),
            (900.0 * KIB * KIB, "900 MiB/s", "944 MB/s"),
            (12.0 * KIB * KIB * KIB, "12.0 GiB/s", "12.9 GB/s"),
            (1_048_576.0, "1.00 MiB/s", "1.05 MB/s"),
            (1_048_575.9, "1.00 MiB/s", "1.05 MB/s"),
            (0.0, "0 B/s", "0 B/s"),
            (1023.0, "1023 B/s", "1.02 kB/s"),
            (5e15, "4547 TiB/s", "5000 TB/s"),
        ] {
            assert_eq!(byte_rate(value, Base::Binary), binary);
            assert_eq!(byte_rate(value, Base::Decimal), decimal);
        }
        assert_eq!(quantity(1_048_576.0, "MiB/s"), "1.00 MiB/s");
        assert_eq!(quantity(1_048_576.0, "MB/s"), "1.05 MB/s");
        assert_eq!(quantity(80_773.0, "IOPS"), "80773 IOPS");
        assert_eq!(quantity(86.08, "s"), "86.1 s");
        assert_eq!(quantity(0.000_123_4, "us"), "123 us");
    }

    #[test]
    fn three_significant_digits() {
        for (value, want) in [
            (0.0, "0"),
            (-0.0, "0"),
            (9.999, "10.0"),
            (99.96, "100"),
            (0.9996, "1.00"),
            (0.012_34, "0.0123"),
            (96.73, "96.7"),
            (1.0, "1.00"),
            (472.4, "472"),
            (-5.0, "-5.00"),
            (1e-9, "0.00000000100"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(short(value), want, "{value}");
        }
    }

    #[test]
    fn full_precision_has_no_exponent_and_reads_back() {
        for value in [1e-9, 1e21, 0.1 + 0.2, 476.0, -5.0, f64::MAX] {
            let text = full(value);
            assert!(!text.contains(['e', 'E']), "{text}");
            assert_eq!(text.parse::<f64>().unwrap(), value);
        }
        assert_eq!((full(476.0).as_str(), full(-0.0).as_str()), ("476", "0"));
        assert_eq!(full(in_unit(5.5e-6, "us")), "5.5");
    }

    #[test]
    fn spans() {
        for (seconds, want) in [
            (0.0, "0 s"),
            (1.5, "1.50 s"),
            (12.34e-6, "12.3 us"),
            (200.0, "3 min 20 s"),
            (7500.0, "2 h 05 min"),
        ] {
            assert_eq!(span(seconds), want);
        }
        assert_eq!(plain("a\x1b[31mb\n"), "a [31mb ");
    }
}
