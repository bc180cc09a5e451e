//! The committed JSON Schema is the one the types give, and records keep it.

use std::{env, fs};

use super::{Record, SCHEMA, sample};

#[test]
fn the_committed_schema_is_that_of_the_types() {
    let mut schema = serde_json::to_value(schemars::schema_for!(Record)).unwrap();
    schema["title"] = "ioscore record".into();
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/record.schema.json");
    if env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(path, &text).unwrap();
    }
    assert!(fs::read_to_string(path).unwrap() == text, "run the test with UPDATE_SCHEMA=1");
}

#[test]
fn every_object_of_the_schema_is_closed() {
    fn open(schema: &serde_json::Value, path: &str, found: &mut Vec<String>) {
        if let Some(object) = schema.as_object() {
            let fields = object.get("type") == Some(&"object".into()) && object.contains_key("properties");
            if fields && object.get("additionalProperties") != Some(&false.into()) {
                found.push(path.to_string());
            }
            object.iter().for_each(|(key, value)| open(value, &format!("{path}/{key}"), found));
        }
    }
    let mut found = Vec::new();
    open(&serde_json::from_str(SCHEMA).unwrap(), "", &mut found);
    assert!(found.is_empty(), "open objects: {found:?}");
}

#[test]
fn an_unknown_field_is_refused_anywhere() {
    let record = sample::record("r", vec![sample::measured("mixed", "a", &[1.0])]);
    let good = serde_json::to_value(&record).unwrap();
    assert_eq!(serde_json::from_value::<Record>(good.clone()).unwrap(), record);
    for pointer in ["", "/run", "/system", "/target", "/rows/0", "/rows/0/metrics/0", "/rows/0/runs/0"] {
        let mut bad = good.clone();
        bad.pointer_mut(pointer).unwrap().as_object_mut().unwrap().insert("surprise".into(), 1.into());
        assert!(serde_json::from_value::<Record>(bad).is_err(), "{pointer} takes anything");
    }
}
