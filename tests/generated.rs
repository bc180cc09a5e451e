//! Files that follow from the tables: committed, and held against what the tables say now.
//! `UPDATE_GENERATED=1 cargo test --test generated` writes them again.

use ioscore::profile::language::What;

fn hold(path: &str, text: &str) {
    let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "{path} is not what the tables say; run UPDATE_GENERATED=1 cargo test --test generated"
    );
}

fn schema(what: What) -> String {
    let schema = ioscore::profile::schema::schema(what, ioscore::ops::verbs());
    serde_json::to_string_pretty(&schema).unwrap() + "\n"
}

#[test]
fn the_profile_schema_follows_from_the_tables() {
    hold("schema/profile.schema.json", &schema(What::Profile));
}

#[test]
fn the_suite_schema_follows_from_the_tables() {
    hold("schema/suite.schema.json", &schema(What::Suite));
}

#[test]
fn the_operations_page_follows_from_the_table() {
    hold("docs/operations.md", &ioscore::profile::reference::reference(ioscore::ops::verbs()));
}
