//! The arithmetic of the benchmarks, and callgrind on a command whose work is known.

mod common;
#[path = "../benches/support/mod.rs"]
mod support;

use support::callgrind::{Point, copying, instructions, slope, total};
use support::paired::{FEWEST, median, ratio, t_975};

#[test]
fn the_total_of_a_callgrind_file() {
    assert_eq!(total("version: 1\nevents: Ir\nsummary: 5\n\nfn=(1)\n1 2\n\ntotals: 1234\n"), Some(1234));
    assert_eq!(total("events: Ir Dr\nsummary: 77 8\n"), Some(77));
    assert_eq!(total("events: Dr Ir\nsummary: 77 8\n"), None);
    assert_eq!(total("events: Ir\n"), None);
    assert_eq!(total(""), None);
}

#[test]
fn the_slope_leaves_out_what_both_runs_do() {
    let at = |operations, instructions| Point { operations, instructions };
    assert_eq!(slope(at(100, 1_000_000), at(300, 1_030_000)), Some(150.0));
    assert_eq!(slope(at(100, 10), at(300, 10)), Some(0.0));
    assert_eq!(slope(at(100, 50), at(300, 10)), Some(-0.2));
    assert_eq!(slope(at(300, 10), at(300, 20)), None);
    assert_eq!(slope(at(300, 10), at(100, 20)), None);
}

#[test]
fn copies_are_told_by_their_function_and_not_by_what_it_calls() {
    let text = "events: Ir\n\nfn=(1) work\n10 100\ncfn=(2) __memcpy_avx_unaligned\ncalls=2 7\n11 60\n+1 5\n\n\
                fn=(2)\n7 40\n* 20\ncfn=(3) other\ncalls=1 9\n8 1000\n-1 3\n\nfn=(3)\n9 1000\n";
    assert_eq!(copying(text), 63);
    assert_eq!(copying("fn=(1) work\n10 100\n"), 0);
}

#[test]
fn callgrind_gives_the_same_slope_twice() {
    let Some([valgrind, dd]) = common::need("bench_support::callgrind", ["valgrind", "dd"]) else { return };
    let point = |operations: u64| {
        let args = ["if=/dev/zero", "of=/dev/null", "bs=1", "status=none"].map(str::to_owned);
        let command: Vec<_> = [dd.display().to_string()]
            .into_iter()
            .chain(args)
            .chain([format!("count={operations}")])
            .collect();
        let instructions = instructions(&valgrind, &command).unwrap_or_else(|e| panic!("{e}"));
        Point { operations, instructions }
    };
    let (few, middle, many) = (point(1_000), point(3_000), point(9_000));
    let (low, high) = (slope(few, middle).expect("more"), slope(middle, many).expect("more"));
    // A read, a write and the loop round them: some instructions, and as many for each block.
    assert!(low > 20.0 && low < 5_000.0, "{low} instructions a block");
    assert!((low / high - 1.0).abs() < 0.02, "{low} and {high} instructions a block");
}

#[test]
fn a_command_that_fails_gives_no_number() {
    let Some([valgrind, dd]) = common::need("bench_support::failing", ["valgrind", "dd"]) else { return };
    let error =
        instructions(&valgrind, &[dd.as_os_str(), "if=/nowhere/at/all".as_ref()]).expect_err("it fails");
    assert!(error.contains("ended with exit status: 1"), "{error}");
}

#[test]
fn medians() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[3.0]), Some(3.0));
    assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[9.0, 1.0, 2.0, 4.0]), Some(3.0));
}

#[test]
fn students_t() {
    for (freedom, expected) in
        [(8, 2.3060), (9, 2.2622), (14, 2.1448), (30, 2.0423), (100, 1.9840), (10_000, 1.9602)]
    {
        assert!((t_975(freedom) - expected).abs() < 0.001, "{freedom}: {} for {expected}", t_975(freedom));
    }
}

#[test]
fn the_ratio_of_pairs() {
    // Ours always 1.5 times theirs, whatever the machine does.
    let steady: Vec<_> =
        [1.0, 2.0, 5.0, 1.0, 3.0, 8.0, 2.0, 1.0, 4.0].map(|theirs| (1.5 * theirs, theirs)).into();
    let seen = ratio(&steady).expect("enough pairs");
    assert!([seen.ratio, seen.low, seen.high].iter().all(|value| (value - 1.5).abs() < 1e-9), "{seen:?}");

    // Logarithms of -1, 0 and 1, three times each: mean 0, standard error sqrt(0.75 / 9).
    let e = std::f64::consts::E;
    let spread: Vec<_> = [e, 1.0, 1.0 / e].repeat(3).into_iter().map(|ours| (ours, 1.0)).collect();
    let seen = ratio(&spread).expect("enough pairs");
    let half = 2.3060 * (0.75_f64 / 9.0).sqrt();
    assert!((seen.ratio - 1.0).abs() < 1e-12, "{seen:?}");
    assert!((seen.high.ln() - half).abs() < 0.001 && (seen.low.ln() + half).abs() < 0.001, "{seen:?}");

    // Swapping sides gives the reciprocal.
    let uneven: Vec<_> = (1..=11).map(|i| (1.0 + f64::from(i % 4), 2.0 + f64::from(i % 3))).collect();
    let swapped: Vec<_> = uneven.iter().map(|&(ours, theirs)| (theirs, ours)).collect();
    let (one, other) = (ratio(&uneven).expect("enough"), ratio(&swapped).expect("enough"));
    assert!((one.ratio * other.ratio - 1.0).abs() < 1e-12 && (one.low * other.high - 1.0).abs() < 1e-12);
}

#[test]
fn too_few_pairs_and_impossible_times_give_no_ratio() {
    assert_eq!(ratio(&[(1.0, 1.0); FEWEST - 1]), None);
    assert!(ratio(&[(1.0, 1.0); FEWEST]).is_some());
    let mut pairs = vec![(1.0, 1.0); FEWEST];
    pairs[3] = (1.0, 0.0);
    assert_eq!(ratio(&pairs), None);
}
