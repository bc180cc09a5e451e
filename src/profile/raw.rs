//! YAML as the parser gives it: keys of every type, equal keys, tags and merge keys still there.
//!
//! Only [`super::load`] uses it. Reading into a tree of our own rather than into the parser's
//! value keeps what a message must be able to name: the second of two equal keys, a number too
//! large for any type, a tag.

use std::cell::Cell;
use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor,
};

/// How much all aliases together may unfold to: values plus bytes of text.
const LARGEST_TREE: usize = 16 << 20;
/// How the error of a tree that is larger begins.
pub const TOO_LARGE: &str = "unfolded too far";

/// A YAML value as the parser gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Raw {
    /// Nothing, or `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer that 64 bits hold, signed or not.
    Int(i128),
    /// An integer that no type holds.
    Huge(String),
    /// A number with a fraction or exponent, also `.inf` and `.nan`.
    Float(f64),
    /// Any other scalar.
    Text(String),
    /// In the order written.
    List(Vec<Raw>),
    /// Keys and values in the order written; keys may repeat.
    Map(Vec<(Raw, Raw)>),
    /// A tag that is not supported.
    Tagged(String),
}

/// Reads a text. The error is the parser's, with its place.
pub fn read(text: &str) -> Result<Raw, serde_yaml::Error> {
    let left = Cell::new(LARGEST_TREE);
    Seed { left: &left }.deserialize(serde_yaml::Deserializer::from_str(text))
}

#[derive(Clone, Copy)]
struct Seed<'a> {
    left: &'a Cell<usize>,
}

impl Seed<'_> {
    fn pay<E: Error>(&self, amount: usize) -> Result<(), E> {
        let left = self.left.get().checked_sub(amount.saturating_add(1));
        self.left.set(left.ok_or_else(|| E::custom(TOO_LARGE))?);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Raw;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Raw, D::Error> {
        self.pay(0)?;
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Int(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Int(value.into()))
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Raw, E> {
        Ok(Raw::Huge(value.to_string()))
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Raw, E> {
        Ok(Raw::Huge(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Float(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Raw, E> {
        self.pay(text.len())?;
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = access.next_key_seed(self)? {
            entries.push((key, access.next_value_seed(self)?));
        }
        Ok(Raw::Map(entries))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Raw, A::Error> {
        let (tag, value) = data.variant::<String>()?;
        value.newtype_variant_seed(self)?;
        Ok(Raw::Tagged(tag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_notation_is_lost() {
        let raw = read("a: 1\na: !x 2\n1: [~, .5, 0x1F, 99999999999999999999]\n<<: {b: yes, true: True}\n");
        let text = |text: &str| Raw::Text(text.into());
        let expected = Raw::Map(vec![
            (text("a"), Raw::Int(1)),
            (text("a"), Raw::Tagged("x".into())),
            (
                Raw::Int(1),
                Raw::List(vec![
                    Raw::Null,
                    Raw::Float(0.5),
                    Raw::Int(31),
                    Raw::Huge("99999999999999999999".into()),
                ]),
            ),
            (text("<<"), Raw::Map(vec![(text("b"), text("yes")), (Raw::Bool(true), Raw::Bool(true))])),
        ]);
        assert_eq!(raw.expect("it parses"), expected);
    }

    #[test]
    fn a_long_text_repeated_without_end_is_refused() {
        let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), "*a, ".repeat(1000));
        let error = read(&text).expect_err("100 MB").to_string();
        assert!(error.contains(TOO_LARGE), "{error}");
    }
}
