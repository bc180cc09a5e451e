use proptest::prelude::*;

use super::*;
use crate::profile::expression::Facts;
use crate::profile::params::{Given, Params};
use crate::profile::yaml;

fn scope() -> Scope {
    let facts = Facts { cpus: 4, memory: 1 << 30, free_space: 1 << 40, page_size: 4096, target_block: 512 };
    let params =
        yaml::node("{transactions: {type: count, default: 1000}, time: {type: duration, default: 20s}}");
    let lets = yaml::node("{double: '{{ 2 * transactions }}'}");
    Params::from_nodes(Some(&params), Some(&lets)).unwrap().resolve(&facts, &Given::new()).unwrap().scope
}

fn numbers() -> Numbers {
    let numbers = [
        ("work.seconds", 12.5),
        ("work.whole_seconds", 12.0),
        ("work.read.bytes.rate", 3.0 * 1048576.0),
        ("work.write.bytes.rate", 1048576.0),
        ("work.read.latency.p99", 0.002),
        ("work.ops.rate", 80.0),
        ("work.ops.total", 0.0),
        ("work.bad.ops.rate", f64::NAN),
    ];
    numbers.map(|(name, number)| (name.to_string(), number)).into()
}

fn spec(value: &str) -> MetricSpec {
    let text = |text: &str| Node { value: Value::Text(text.into()), ..yaml::node("x") };
    MetricSpec {
        name: "x".into(),
        value: text(value),
        unit: Unit::NONE,
        better: Better::Higher,
        primary: true,
        when: None,
        optional: false,
    }
}

fn value(expression: &str) -> Option<f64> {
    evaluate(&[spec(expression)], &numbers(), &scope())[0].value
}

#[test]
fn numbers_are_computed_in_base_units() {
    assert_eq!(value("work.read.bytes.rate + work.write.bytes.rate"), Some(4.0 * 1048576.0));
    assert_eq!(value("transactions // work.whole_seconds"), Some(83.0));
    assert_eq!(value("transactions / work.seconds"), Some(80.0));
    assert_eq!(value("double / time"), Some(100.0));
    assert_eq!(value("work.read.latency.p99"), Some(0.002));
    assert_eq!(value("max(work.seconds, work.whole_seconds)"), Some(12.5));
    assert_eq!(value("work.ops.total"), Some(0.0), "a measured 0 is a number");
}

#[test]
fn what_is_missing_or_not_finite_gives_no_number() {
    for expression in [
        "work.fsync.ops.rate",
        "fill.seconds",
        "work.bad.ops.rate",
        "[work.fsync.ops.rate, 5] | max",
        "work.ops.rate / work.ops.total",
        "work.ops.rate // work.ops.total",
        "0 * work.bad.ops.rate",
        "work.ops",
        "work",
        "work.seconds.rate",
        "'text'",
        "work.ops.total > 1",
        "1 +",
        "work.fsync.ops.rate if work.ops.total else work.ops.rate",
    ] {
        assert_eq!(value(expression), None, "{expression}");
    }
}

#[test]
fn conditions_drop_lines() {
    let shown = |when: &str| {
        let when = Some(Node { value: Value::Text(when.into()), ..yaml::node("x") });
        evaluate(&[MetricSpec { when, ..spec("work.seconds") }], &numbers(), &scope()).len()
    };
    assert_eq!(shown("work.ops.total > 0"), 0);
    assert_eq!(shown("work.ops.rate > 0"), 1);
    assert_eq!(shown("work.fsync.ops.rate > 0"), 1, "not decided");
}

#[test]
fn specs_are_read() {
    let specs = read(&yaml::node(
        "[{name: TPS, value: a.ops.rate, better: higher},
          {name: Latency, value: a.latency.p99, unit: ms, better: lower, primary: true}, {name: One, value: 1, better: lower}]",
    ))
    .unwrap();
    assert_eq!(specs.iter().map(|spec| spec.primary).collect::<Vec<_>>(), [false, true, false]);
    assert_eq!((specs[1].unit.name(), specs[1].better), ("ms", Better::Lower));
    assert_eq!(specs[1].unit.from_base(0.002), 2.0);
    let first = read(&yaml::node("[{name: a, value: b, better: lower}, {name: c, value: b, better: lower}]"))
        .unwrap();
    assert!(first[0].primary && !first[1].primary);
    let table = [
        ("[{value: a, better: lower}]", "name is missing"),
        ("[{name: a, better: lower}]", "value is missing"),
        ("[{name: a, value: b}]", "better is missing"),
        ("[{name: a, value: b, better: more}]", "neither higher nor lower"),
        ("[{name: a, value: b, better: lower, unit: MIB/s}]", "\"MIB/s\" is no unit"),
        ("[{name: a, value: b +, better: lower}]", "unexpected"),
        ("[{name: a, value: '{{ b }}', better: lower}]", "takes no braces"),
        (
            "[{name: a, value: b, better: lower}, {name: a, value: b, better: lower}]",
            "two numbers are called a",
        ),
        (
            "[{name: a, value: b, better: lower, primary: true}, {name: c, value: b, better: lower, primary: true}]",
            "more than one",
        ),
    ];
    for (text, message) in table {
        let problems = read(&yaml::node(text)).expect_err(text);
        assert!(problems[0].message.contains(message), "{text}: {problems:?}");
    }
}

#[test]
fn names_that_nothing_has_are_found() {
    let known: Vec<String> = numbers().into_keys().collect();
    let check = |value: &str| check_names(&[spec(value)], &known, &scope());
    assert_eq!(check("work.read.bytes.rate / transactions + work.seconds"), []);
    let table = [
        ("1 + wrok.seconds", "there is no phase wrok", "did you mean work?", 4..16),
        ("work.raed.bytes.rate", "work has no raed", "did you mean work.read?", 0..20),
        (
            "work.read.latency.p98",
            "work.read.latency has no p98",
            "did you mean work.read.latency.p99?",
            0..21,
        ),
        ("work.read.zzzzzzz.p98", "work.read has no zzzzzzz", "there are: bytes, latency", 0..21),
        ("work.read.latency", "work.read.latency is no number yet", "there are: p99", 0..17),
        ("work.seconds.rate", "work.seconds has no rate", "work.seconds is a number", 0..17),
    ];
    for (text, message, help, part) in table {
        let problems = check(text);
        assert_eq!(problems.len(), 1, "{text}");
        assert_eq!((&problems[0].message[..], &problems[0].help[0][..]), (message, help));
        assert_eq!(problems[0].part, Some(part), "{text}");
    }
}

#[test]
fn optional_numbers_of_other_loads_are_left_out_and_mistakes_are_not() {
    let known: Vec<String> = numbers().into_keys().collect();
    let others = ["work.fsync.latency.p99".to_string(), "work.read.latency.p99".to_string()];
    let kept = |value: &str, optional: bool| {
        let specs = vec![MetricSpec { optional, ..spec(value) }];
        offered(specs, &known, &others, &scope()).len()
    };
    for (value, optional, count) in [
        ("work.fsync.latency.p99", true, 0),
        ("work.fsync.latency.p99 / time", true, 0),
        ("work.fsync.latency.p99", false, 1),
        ("work.read.latency.p99", true, 1),
        ("work.fsnyc.latency.p99", true, 1),
        ("work.fsync.latency.p98", true, 1),
        ("transactions", true, 1),
    ] {
        assert_eq!(kept(value, optional), count, "{value}");
    }
}

#[test]
fn units_convert_at_print() {
    let mib = Unit::parse("MiB/s").unwrap();
    let mb = Unit::parse("MB/s").unwrap();
    assert_eq!((mib.from_base(1048576.0), mb.from_base(1048576.0)), (1.0, 1.048576));
    assert_eq!(Unit::parse("%").unwrap().from_base(0.75), 75.0);
    assert_eq!(Unit::parse("").unwrap(), Unit::NONE);
    assert_eq!(Unit::parse("mb/s"), None);
    assert_eq!(Unit::ALL.map(Unit::name)[..], *crate::profile::language::UNITS);
}

proptest! {
    #[test]
    fn units_go_both_ways(number in -1e12f64..1e12) {
        for unit in Unit::ALL {
            let back = unit.to_base(unit.from_base(number));
            prop_assert!((back - number).abs() <= number.abs() * 1e-12, "{unit}");
        }
    }

    #[test]
    fn evaluation_never_panics_nor_gives_what_is_not_finite(text in "(work|read|seconds|ops|rate|transactions|\\.| |[()+*/%0-9-]|max|total){0,12}") {
        let number = value(&text);
        prop_assert!(number.is_none_or(f64::is_finite));
        check_names(&[spec(&text)], &["work.ops.rate".to_string()], &scope());
    }
}
