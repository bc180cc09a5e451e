//! Tests of declarations, defaults, overlays and `--set`.

use super::*;

const FACTS: Facts =
    Facts { cpus: 4, memory: 1 << 30, free_space: 1 << 40, page_size: 4096, target_block: 512 };

fn params(params: &str, lets: &str) -> Params {
    Params::from_nodes(Some(&yaml::node(params)), Some(&yaml::node(lets))).unwrap()
}

fn replayed() -> Params {
    params(
        "{loadfile: {type: file},
          clients: {type: count, default: 1},
          time: {type: duration, default: 600s},
          warmup: {type: duration, default: '{{ time / 5 }}'},
          rate: {type: size, default: null},
          size: {type: distribution, default: {gamma: {mean: 16KiB, shape: 1.5}}},
          flags: {type: choices, of: [trunc, direct], default: [trunc]},
          journal: {type: choice, of: [delete, 'off'], default: delete},
          rotate: {type: [duration, count], default: 180s},
          share: {type: percent, default: 75%},
          files: {type: count, default: '{{ 2 * memory // 16384 }}'}}",
        "{half: '{{ clients / 2 }}', pause: '{{ time }}', names: {a: '{{ clients }}'}}",
    )
}

fn values(resolved: &Resolved) -> Vec<String> {
    let shown = |(name, value): &(String, Option<ParamValue>)| match value {
        Some(value) => format!("{name}={value}"),
        None => format!("{name}?"),
    };
    resolved.values.iter().map(shown).collect()
}

fn rendered(resolved: &Resolved, text: &str) -> Value {
    let node = Node { value: Value::Text(text.into()), ..yaml::node("x") };
    resolved.scope.clone().render(&node).unwrap().value
}

#[test]
fn defaults_see_earlier_parameters() {
    let resolved = replayed().resolve(&FACTS, &Given::new()).unwrap();
    assert_eq!(
        values(&resolved),
        [
            "loadfile?",
            "clients=1",
            "time=10m",
            "warmup=2m",
            "rate=null",
            "size={gamma: {mean: 16KiB, shape: 1.5}}",
            "flags=[trunc]",
            "journal=delete",
            "rotate=3m",
            "share=75%",
            "files=131072"
        ]
    );
    assert_eq!(resolved.scope.binding("files").unwrap().facts, BTreeSet::from(["memory"]));
    let problems = replayed().require_all(&resolved).unwrap_err();
    assert_eq!(problems.len(), 1);
    assert!(problems[0].message.contains("loadfile") && problems[0].help[0].contains("--set loadfile="));
}

#[test]
fn values_in_expressions_are_numbers_and_keep_their_units_alone() {
    let resolved = replayed().resolve(&FACTS, &Given::new()).unwrap();
    assert_eq!(rendered(&resolved, "{{ time }}"), Value::Text("10m".into()));
    assert_eq!(rendered(&resolved, "{{ rotate }}"), Value::Text("3m".into()));
    assert_eq!(rendered(&resolved, "{{ time / 2 }}"), Value::Float(300.0));
    assert_eq!(rendered(&resolved, "{{ share * 4 }}"), Value::Float(3.0));
    assert_eq!(rendered(&resolved, "for {{ time }}, {{ pause }}"), Value::Text("for 10m, 10m".into()));
    assert_eq!(rendered(&resolved, "{{ half }}"), Value::Float(0.5));
    assert_eq!(rendered(&resolved, "{{ names.a }}"), Value::Int(1));
    assert_eq!(rendered(&resolved, "{{ rate }}"), Value::Null);
    assert_eq!(rendered(&resolved, "{{ size }}"), yaml::node("{gamma: {mean: 16KiB, shape: 1.5}}").value);
    assert_eq!(rendered(&resolved, "{{ flags }}"), yaml::node("[trunc]").value);
}

#[test]
fn overlays_see_what_was_before_and_defaults_follow() {
    let params = replayed();
    let mut given = Given::new();
    let before = params.resolve(&FACTS, &given).unwrap();
    let overlay = yaml::node("{time: '{{ time / 10 }}', clients: '{{ time }}', rotate: 100, journal: null}");
    let overlay_error = params.overlay(overlay.entries(), &before, &mut given).unwrap_err();
    assert!(overlay_error[0].message.contains("\"10m\" is not a count"), "{overlay_error:?}");
    let overlay =
        yaml::node("{time: '{{ time / 10 }}', clients: '{{ time // 60 }}', rotate: 100, journal: null}");
    let set = params.overlay(overlay.entries(), &before, &mut given).unwrap();
    assert_eq!(set, ["time", "clients", "rotate"], "null is as if not written");
    let after = params.resolve(&FACTS, &given).unwrap();
    let shown = values(&after);
    assert_eq!(&shown[1..4], ["clients=10", "time=1m", "warmup=12s"]);
    assert!(shown.contains(&"rotate=100".to_string()) && shown.contains(&"journal=delete".to_string()));
}

#[test]
fn what_is_typed_is_read_by_type() {
    let params = replayed();
    let mut given = Given::new();
    for (name, text) in [
        ("loadfile", "012"),
        ("clients", "1e1"),
        ("journal", "off"),
        ("flags", "trunc,direct"),
        ("rate", "1MiB"),
        ("size", "{uniform: [1, 4k]}"),
        ("rotate", "20s"),
        ("share", "5%"),
    ] {
        params.set(name, text, &mut given).unwrap_or_else(|p| panic!("{name}: {p:?}"));
    }
    let shown = values(&params.resolve(&FACTS, &given).unwrap());
    for value in
        ["loadfile=012", "clients=10", "journal=off", "flags=[trunc, direct]", "rate=1MiB", "rotate=20s"]
    {
        assert!(shown.contains(&value.to_string()), "{value}: {shown:?}");
    }
    params.set("rate", "null", &mut given).unwrap();
    params.set("time", "null", &mut given).unwrap();
    let shown = values(&params.resolve(&FACTS, &given).unwrap());
    assert!(shown.contains(&"rate=null".to_string()) && shown.contains(&"time=10m".to_string()));

    let table = [
        ("client", "1", "there is no parameter client", "did you mean clients?"),
        ("time", "20", "--set time: the number 20 is not a duration", "write 20s, 500ms or 1m30s"),
        ("time", "12:30", "--set time: \"12:30\" is not a duration", "write for example 20s"),
        ("journal", "of", "none of the choices", "did you mean off?"),
        ("rotate", "soon", "neither a duration nor a count", "write for example 20s"),
        ("size", "{unifrm: [1, 2]}", "unknown kind", "did you mean uniform?"),
    ];
    for (name, text, message, help) in table {
        let problem = &params.set(name, text, &mut given).unwrap_err()[0];
        assert!(problem.message.contains(message), "{name}={text}: {}", problem.message);
        assert!(problem.help[0].starts_with(help), "{name}={text}: {:?}", problem.help);
        assert_eq!(problem.place, None);
    }
}

#[test]
fn wrong_declarations() {
    let table = [
        ("{a-b: {type: count}}", "is no name for a parameter"),
        ("{memory: {type: size, default: 1}}", "is a fact"),
        ("{in: {type: size, default: 1}}", "means something else"),
        ("{a: {default: 1}}", "has no type"),
        ("{a: {type: int}}", "is no type"),
        ("{a: {type: choice}}", "has no choices"),
        ("{a: {type: []}}", "has no type"),
    ];
    for (text, message) in table {
        let problems = Params::from_nodes(Some(&yaml::node(text)), None).expect_err(text);
        assert!(problems[0].message.contains(message), "{text}: {problems:?}");
    }
    let both = Params::from_nodes(Some(&yaml::node("{a: {type: count}}")), Some(&yaml::node("{a: 1}")));
    assert!(both.unwrap_err()[0].message.contains("is a parameter already"));
    let later = params("{a: {type: count, default: '{{ b }}'}, b: {type: count, default: 1}}", "{}");
    assert_eq!(later.resolve(&FACTS, &Given::new()).unwrap_err()[0].code, "unknown-name");
    let wrong = params("{a: {type: count, default: 4k}}", "{}");
    assert_eq!(wrong.resolve(&FACTS, &Given::new()).unwrap_err()[0].code, "invalid-count");
}

#[test]
fn either_type_of_a_computed_number() {
    let params = params(
        "{a: {type: count, default: 5}, b: {type: [duration, count], default: '{{ 2 * a }}'}, c: {type: [duration, count], default: '{{ a / 2 }}'}}",
        "{}",
    );
    assert_eq!(values(&params.resolve(&FACTS, &Given::new()).unwrap()), ["a=5", "b=10", "c=2500ms"]);
}
