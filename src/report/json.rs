//! JSON: the record as it is stored; several records as a list of them.

use crate::record::{Record, json};

/// The text.
pub fn write(records: &[Record]) -> Result<Vec<u8>, serde_json::Error> {
    match records {
        [one] => json::write(one),
        many => {
            let mut bytes = b"[\n".to_vec();
            for (i, record) in many.iter().enumerate() {
                if i > 0 {
                    bytes.extend_from_slice(b",\n");
                }
                let text = json::write(record)?;
                bytes.extend_from_slice(text.trim_ascii_end());
            }
            bytes.extend_from_slice(b"\n]\n");
            Ok(bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;

    #[test]
    fn one_or_several() {
        let record = sample::record("r", vec![sample::measured("mixed", "a", &[1.0])]);
        assert_eq!(json::read(&write(std::slice::from_ref(&record)).unwrap()).unwrap(), record);
        let two: Vec<Record> =
            serde_json::from_slice(&write(&[record.clone(), record.clone()]).unwrap()).unwrap();
        assert_eq!(two, [record.clone(), record]);
        assert_eq!(serde_json::from_slice::<Vec<Record>>(&write(&[]).unwrap()).unwrap(), []);
    }
}
