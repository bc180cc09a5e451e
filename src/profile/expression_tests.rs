//! Tests of expressions in scalars.

use proptest::prelude::*;

use super::*;
use crate::profile::yaml;

fn facts() -> Facts {
    Facts { cpus: 4, memory: 1 << 30, free_space: 1 << 40, page_size: 4096, target_block: 512 }
}

fn scope() -> Scope {
    let mut scope = Scope::new(&facts());
    let mut define = |name: &str, text: &str, shown: Option<&str>| {
        let node = yaml::node(text);
        let computed = calculator::from_node(&node);
        let shown = shown.map_or_else(|| node.value.to_string(), str::to_string);
        scope.define(name, Binding { node, computed, shown, facts: BTreeSet::new() });
    };
    define("files", "500", None);
    define("block", "4096", Some("4KiB"));
    define("mode", "makej", None);
    define("flags", "[trunc, direct]", None);
    define("size", "{quantiles: {0%: 1, 5%: 2, 100%: 9}}", None);
    define("nothing", "null", None);
    define("names", "{read: Sequential Read, '1': one}", None);
    define("braces", "'{{ files }}: [a'", None);
    scope.declare_missing("loadfile");
    scope
}

fn render(text: &str) -> Result<Value, Vec<Diagnostic>> {
    let node = Node { value: Value::Text(text.into()), ..yaml::node("x") };
    scope().render(&node).map(|node| node.value)
}

#[test]
fn a_lone_expression_keeps_its_type() {
    let table = [
        ("{{ 2 * files }}", "1000"),
        ("{{ files / 2 }}", "250.0"),
        ("{{ files // 3 }}", "166"),
        ("{{ [files // 20, 1] | max }}", "25"),
        ("{{ max(files, 900, block) }}", "4096"),
        ("{{ min([3, 2]) }}", "2"),
        ("{{ flags }}", "[trunc, direct]"),
        ("{{ ['trunc'] if mode == 'makej' else [] }}", "[trunc]"),
        ("{{ {'byte': 'a'} if mode == 'makej' else 'random' }}", "{byte: a}"),
        ("{{ {'a': {'b': 1}} }}", "{a: {b: 1}}"),
        ("{{ nothing }}", "null"),
        ("{{ none if files else 1 }}", "null"),
        ("{{ mode == 'makej' }}", "true"),
        ("{{ size }}", "{quantiles: {0%: 1, 5%: 2, 100%: 9}}"),
        ("{{ size if files > 3 else 5 }}", "{quantiles: {0%: 1, 5%: 2, 100%: 9}}"),
        ("{{ names['read'] }}", "Sequential Read"),
        ("{{ names[1] }}", "one"),
        ("{{ '}}' ~ \"{{\" }}", "'}}{{'"),
        ("{{ range(3) }}", "[0, 1, 2]"),
        ("{{ 'a\\'}}' }}", "\"a'}}\""),
        ("{{ 18446744073709551615 }}", "18446744073709551615"),
    ];
    for (text, yaml) in table {
        assert_eq!(render(text), Ok(yaml::node(yaml).value), "{text}");
    }
}

#[test]
fn text_results_are_not_read_as_yaml() {
    assert_eq!(render("{{ '5' }}"), Ok(Value::Text("5".into())));
    assert_eq!(render("{{ braces }}"), Ok(Value::Text("{{ files }}: [a".into())), "nor rendered again");
    assert_eq!(render("{{ '1\nkey: 2' }}"), Ok(Value::Text("1\nkey: 2".into())));
}

#[test]
fn inside_longer_text_values_are_formatted() {
    let table = [
        ("Block Size: {{ block }}", "Block Size: 4KiB"),
        ("{{ block }}-{{ files }}", "4KiB-500"),
        ("{{ block * 2 }} bytes", "8192 bytes"),
        ("{{ block / 2 }} bytes", "2048 bytes"),
        (" {{ files }}", " 500"),
        ("x{{ nothing }}y", "xy"),
        ("{n:05}-{{ mode }}", "{n:05}-makej"),
        ("client{worker}", "client{worker}"),
        ("a }} b", "a }} b"),
    ];
    for (text, rendered) in table {
        assert_eq!(render(text), Ok(Value::Text(rendered.into())), "{text}");
    }
}

#[test]
fn what_is_rendered_keeps_its_place_and_is_computed() {
    let node = yaml::node("{a: ['{{ size }}', 5]}");
    let rendered = scope().render(&node).unwrap();
    let item = &rendered.get("a").unwrap().items()[0];
    let inner = item.get("quantiles").unwrap();
    assert!(item.computed && inner.computed);
    assert_eq!((&*item.place.pointer, &*inner.place.pointer), ("/a/0", "/a/0"));
    assert!(!rendered.get("a").unwrap().items()[1].computed);
}

#[test]
fn mistakes_have_their_bytes() {
    let table = [
        ("a {{ fils }}", "unknown-name", Some(5..9), "unknown name fils"),
        ("{{ 'fils' ~ x.fils ~ fils }}", "unknown-name", Some(21..25), "unknown name fils"),
        ("{{ loadfile }}", "missing-parameter", None, "loadfile has no value"),
        ("{{ files", "invalid-expression", Some(0..8), "without its }}"),
        ("é{{ }}", "invalid-expression", Some(2..7), "empty"),
        ("{% if x %}", "invalid-expression", Some(0..2), "blocks"),
        ("{{ files | mox }}", "unknown-filter", None, "mox"),
        ("{{ mox(files) }}", "unknown-name", Some(3..6), "unknown name mox"),
        ("{{ names.write }}", "invalid-expression", Some(3..14), "not there"),
        ("{{ files + }}", "invalid-expression", None, "unexpected"),
        ("{{ files + mode }}", "invalid-expression", Some(3..15), "+"),
        ("{{ files / 0 }}", "invalid-expression", None, ""),
        ("{{ files // 0 }}", "invalid-expression", None, ""),
        ("{{ 1e308 * 10 }}", "invalid-expression", Some(3..13), "finite"),
        ("{{ range(90000) | map('string') | join | length }}", "unknown-filter", None, "map"),
        ("{{ ('x' * 100000000) | length }}", "expression-too-long", None, "steps"),
        ("{{ range }}", "invalid-expression", Some(3..8), "no value of a profile"),
        ("{{ [range(9999) | list] * 99999 }}", "invalid-expression", Some(3..31), "more than 10000 values"),
        ("{{ '%099999999d' | format(1) }}", "expression-too-long", None, "steps"),
    ];
    for (text, code, part, message) in table {
        let problems = render(text).expect_err(text);
        let problem =
            problems.iter().find(|p| p.code == code).unwrap_or_else(|| panic!("{text}: {problems:?}"));
        assert!(problem.message.contains(message), "{text}: {}", problem.message);
        if part.is_some() {
            assert_eq!(problem.part, part, "{text}");
        }
    }
    assert_eq!(render("{{ fils }}").unwrap_err()[0].help, ["did you mean files?"]);
    assert_eq!(render("{{ files | mox }}").unwrap_err()[0].help, ["did you mean max?"]);
    let both = scope().render(&yaml::node("['{{ a }}', {b: '{{ b }}'}]")).unwrap_err();
    assert_eq!(both.len(), 2, "every mistake at once");
}

#[test]
fn long_expressions_do_not_exhaust_the_stack() {
    for unit in ["-", "not ", "1+", "(", "[", "{1:", "1 if ", "x.", "x|", "1,"] {
        for length in [2000, 200_000] {
            let text = format!("{{{{ {}1 }}}}", unit.repeat(length / unit.len()));
            let _ = render(&text);
        }
    }
    assert!(
        render(&format!("{{{{ {}1 }}}}", "-".repeat(3000))).unwrap_err()[0].message.contains("bytes long")
    );
}

#[test]
fn keys_are_never_expressions() {
    let problem = &scope().render(&yaml::node("{a: {'{{ mode }}': 1}}")).unwrap_err()[0];
    assert!(problem.on_key && problem.code == "expression-in-key");
}

#[test]
fn when_is_decided() {
    let decide = |text: &str| scope().decide(&Node { value: Value::Text(text.into()), ..yaml::node("x") });
    assert_eq!(decide("mode in ['makej', 'ageing']"), Ok(true));
    assert_eq!(decide("files > 500 or not true"), Ok(false));
    assert_eq!(decide("nothing is none"), Ok(true));
    assert_eq!(scope().decide(&yaml::node("false")), Ok(false));
    let problem = &decide("{{ files > 3 }}").unwrap_err()[0];
    assert_eq!((problem.code, &problem.help[0][..]), ("braces-in-expression", "write files > 3"));
    assert!(decide("files").unwrap_err()[0].message.contains("the number 500, not true or false"));
    assert_eq!(decide("fils > 3").unwrap_err()[0].part, Some(0..4));
    assert!(scope().decide(&yaml::node("[1]")).is_err());
}

#[test]
fn facts_that_were_used_are_known() {
    let mut scope = scope();
    let node = yaml::node("'{{ [2 * memory, 100] | max }}'");
    assert_eq!(scope.render(&node).unwrap().value, Value::Int(2 << 30));
    assert_eq!(scope.take_used(), BTreeSet::from(["memory"]));
    scope.render(&yaml::node("'{{ files }}'")).unwrap();
    assert!(scope.used().is_empty());
}

#[test]
fn what_is_left_out_is_checked_all_the_same() {
    let problems = scope().check(&yaml::node("{when: fils, write: '{{ blck }}', b: '{{ 1 // 0 }}'}"));
    let messages: Vec<&str> = problems.iter().map(|p| p.message.as_str()).collect();
    assert_eq!(messages, ["unknown name fils", "unknown name blck"]);
}

proptest! {
    #[test]
    fn random_templates_never_panic(text in "(\\{\\{|\\}\\}|files|size|names| |[{}()\\[\\]'\"|.+*/%é\\\\0-9~,:-]|if|else|in|max){0,14}") {
        let _ = render(&text);
        let _ = scope().check(&Node { value: Value::Text(text), ..yaml::node("x") });
    }

    #[test]
    fn random_expressions_never_panic(text in "(files|size|names|flags| |[()\\[\\]'|.+*/%0-9-]| if | else |max|range|join){0,14}") {
        let _ = render(&format!("{{{{ {text} }}}}"));
    }

    #[test]
    fn any_text_without_braces_stays(text in "[^{]{0,24}") {
        prop_assert_eq!(render(&text), Ok(Value::Text(text)));
    }
}
