//! Units of metrics: how many base units one of them is.

/// Base units (bytes, seconds, operations) in one `unit`, a second of time or not: `MiB/s` gives
/// 1048576, `us` gives 1e-6. A unit of no fixed size, such as `Files/s` or `TPS`, counts as one.
pub fn factor(unit: &str) -> f64 {
    let quantity = unit.strip_suffix("/s").unwrap_or(unit);
    match quantity {
        "KiB" => 1024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        "TiB" => 1_099_511_627_776.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        "ms" => 1e-3,
        "us" | "µs" => 1e-6,
        "ns" => 1e-9,
        "min" => 60.0,
        "h" => 3600.0,
        "%" => 0.01,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::factor;

    #[test]
    fn binary_and_decimal_differ() {
        assert_eq!((factor("MiB/s"), factor("MB/s"), factor("MiB")), (1_048_576.0, 1e6, 1_048_576.0));
        assert_eq!((factor("us"), factor("s"), factor("Files/s"), factor("IOPS")), (1e-6, 1.0, 1.0, 1.0));
    }
}
