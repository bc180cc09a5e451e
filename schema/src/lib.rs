//! JSON Schema validation behind one non-generic type.
//!
//! Knows nothing of profiles. It exists so that the validator, whose generic code is slow to
//! build, is compiled once and apart from everything else.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

/// A compiled schema of draft 2020-12.
pub struct Checker {
    validator: jsonschema::Validator,
}

/// One way in which a document differs from its schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Issue {
    /// JSON pointer of the value meant, `""` for the whole document.
    pub pointer: String,
    /// In which way it differs.
    pub kind: IssueKind,
    /// The validator's own words.
    pub message: String,
}

/// What kind of difference it is.
#[derive(Clone, Debug, PartialEq)]
pub enum IssueKind {
    /// Keys that the map at the pointer may not have.
    UnknownKeys(Vec<String>),
    /// Names of the JSON types that would be right.
    WrongType(Vec<String>),
    /// The allowed values.
    NotOneOf(Vec<Value>),
    /// The key that the map at the pointer must have.
    Missing(String),
    /// At least this many entries or items.
    TooFew(u64),
    /// At most this many entries or items.
    TooMany(u64),
    /// A number beyond this limit.
    OutOfRange(Value),
    /// A text of another form than this regular expression.
    Form(String),
    /// None, or more than one, of several alternatives fits.
    NoAlternative,
    /// Any other keyword, by its name.
    Other(String),
}

impl Checker {
    /// Compiles a schema. The error says what is wrong with the schema itself.
    pub fn new(schema: &Value) -> Result<Checker, String> {
        jsonschema::draft202012::options()
            .build(schema)
            .map(|validator| Checker { validator })
            .map_err(|error| error.to_string())
    }

    /// Every difference, in the order of the document's parts; empty when it is valid.
    pub fn check(&self, document: &Value) -> Vec<Issue> {
        self.validator
            .iter_errors(document)
            .map(|error| Issue {
                pointer: error.instance_path().to_string(),
                kind: kind(error.kind()),
                message: error.to_string(),
            })
            .collect()
    }
}

fn kind(kind: &ValidationErrorKind) -> IssueKind {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            IssueKind::UnknownKeys(unexpected.clone())
        }
        Kind::Type { kind: TypeKind::Single(one) } => IssueKind::WrongType(vec![one.to_string()]),
        Kind::Type { kind: TypeKind::Multiple(set) } => {
            IssueKind::WrongType(set.iter().map(|one| one.to_string()).collect())
        }
        Kind::Enum { options } => IssueKind::NotOneOf(options.as_array().cloned().unwrap_or_default()),
        Kind::Constant { expected_value } => IssueKind::NotOneOf(vec![(**expected_value).clone()]),
        Kind::Required { property } => IssueKind::Missing(text(property)),
        Kind::MinItems { limit } | Kind::MinProperties { limit } => IssueKind::TooFew(*limit),
        Kind::MaxItems { limit } | Kind::MaxProperties { limit } => IssueKind::TooMany(*limit),
        Kind::Minimum { limit }
        | Kind::Maximum { limit }
        | Kind::ExclusiveMinimum { limit }
        | Kind::ExclusiveMaximum { limit } => IssueKind::OutOfRange(limit.clone()),
        Kind::Pattern { pattern } => IssueKind::Form(pattern.clone()),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } | Kind::OneOfMultipleValid { .. } => {
            IssueKind::NoAlternative
        }
        other => IssueKind::Other(other.keyword().to_owned()),
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kinds(document: Value) -> Vec<(String, IssueKind)> {
        let schema = json!({
            "type": "object", "additionalProperties": false, "required": ["a"],
            "properties": {
                "a": {"type": ["integer", "null"], "minimum": 0},
                "b": {"enum": ["x", "y"]},
                "c": {"type": "array", "minItems": 2, "maxItems": 3},
                "d": {"type": "string", "pattern": "^k"},
                "e": {"anyOf": [{"type": "string"}, {"type": "null"}]}
            }
        });
        let issues = Checker::new(&schema).expect("a valid schema").check(&document);
        issues.into_iter().map(|issue| (issue.pointer, issue.kind)).collect()
    }

    #[test]
    fn every_kind_of_difference_has_its_name() {
        assert_eq!(kinds(json!({"a": 1})), []);
        assert_eq!(kinds(json!({"a": 1, "z": 2})), [("".into(), IssueKind::UnknownKeys(vec!["z".into()]))]);
        assert_eq!(kinds(json!({})), [("".into(), IssueKind::Missing("a".into()))]);
        assert_eq!(kinds(json!({"a": -1})), [("/a".into(), IssueKind::OutOfRange(json!(0)))]);
        let [(_, IssueKind::WrongType(types))] = &kinds(json!({"a": "x"}))[..] else { panic!() };
        assert!(types.contains(&"integer".to_owned()) && types.contains(&"null".to_owned()), "{types:?}");
        let options = vec![json!("x"), json!("y")];
        assert_eq!(kinds(json!({"a": 1, "b": 3})), [("/b".into(), IssueKind::NotOneOf(options))]);
        assert_eq!(kinds(json!({"a": 1, "c": [1]})), [("/c".into(), IssueKind::TooFew(2))]);
        assert_eq!(kinds(json!({"a": 1, "c": [1, 2, 3, 4]})), [("/c".into(), IssueKind::TooMany(3))]);
        assert_eq!(kinds(json!({"a": 1, "d": "x"})), [("/d".into(), IssueKind::Form("^k".into()))]);
        assert_eq!(kinds(json!({"a": 1, "e": 1})), [("/e".into(), IssueKind::NoAlternative)]);
    }

    #[test]
    fn a_schema_that_is_none_is_refused_with_a_reason() {
        let error = Checker::new(&json!({"type": 12})).err().expect("not a schema");
        assert!(!error.is_empty());
    }
}
