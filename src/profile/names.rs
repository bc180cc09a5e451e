//! Names and ids: how they are spelled, and which known one somebody probably meant.

/// Whether expressions can say it: `[a-z][a-z0-9_]*`.
pub fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Whether it is a kebab-case id: words of `a-z0-9` joined by single dashes. Dots are allowed
/// inside (`1.5gib`), since sizes become part of case ids.
pub fn is_id(text: &str) -> bool {
    let word =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    text.split('-').all(|part| part.split('.').all(word))
}

/// Makes an id of a rendered text: lower-case, everything else than letters, digits and inner dots
/// becomes one dash.
pub fn to_id(text: &str) -> String {
    let mut id = String::new();
    for c in text.chars().map(|c| c.to_ascii_lowercase()) {
        let keep = c.is_ascii_alphanumeric() || (c == '.' && !id.is_empty() && !id.ends_with(['-', '.']));
        match keep {
            true => id.push(c),
            false if !id.is_empty() && !id.ends_with('-') => {
                if id.ends_with('.') {
                    id.pop();
                }
                id.push('-');
            }
            false => {}
        }
    }
    id.trim_end_matches(['-', '.']).to_string()
}

/// The known name nearest to one that is not known, if it is near enough to be meant.
pub fn nearest<'a, S: AsRef<str> + ?Sized + 'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a S>,
) -> Option<&'a str> {
    known
        .into_iter()
        .map(AsRef::as_ref)
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + name.len().max(candidate.len()) / 4)
        .filter(|(distance, candidate)| *distance < name.chars().count().max(candidate.chars().count()))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The help for an unknown name: the nearest one, or what there is.
pub fn did_you_mean<'a, S: AsRef<str> + ?Sized + 'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a S> + Clone,
) -> String {
    if let Some(near) = nearest(name, known.clone()) {
        return format!("did you mean {near}?");
    }
    let all: Vec<&str> = known.into_iter().map(AsRef::as_ref).collect();
    match all.is_empty() {
        true => "there are none".into(),
        false => format!("there are: {}", all.join(", ")),
    }
}

/// Whether a pattern with `*` (any text) and `?` (one character) fits the whole of a text.
pub fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where to go on when the text after the last star does not fit.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match retry {
                Some((star, from)) => {
                    retry = Some((star, from + 1));
                    p = star + 1;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spellings() {
        assert!(is_name("read_file") && is_name("p99"));
        assert!(
            !is_name("") && !is_name("9p") && !is_name("read-file") && !is_name("Read") && !is_name("_x")
        );
        assert!(is_id("1000-files") && is_id("randread-4kib") && is_id("1.5gib"));
        assert!(!is_id("") && !is_id("-a") && !is_id("a--b") && !is_id("A") && !is_id("a_b") && !is_id("a."));
        assert_eq!(to_id("RandRead-4KiB"), "randread-4kib");
        assert_eq!(to_id("  4 Clients, (all) "), "4-clients-all");
        assert_eq!(to_id("1.5GiB."), "1.5gib");
        assert_eq!(to_id("a.-b"), "a-b");
    }

    #[test]
    fn near_names() {
        let known = ["workers", "files", "block"];
        assert_eq!(nearest("worker", known.iter()), Some("workers"));
        assert_eq!(nearest("blcok", known.iter()), Some("block"));
        assert_eq!(nearest("zzz", known.iter()), None);
        assert_eq!(nearest("a", ["b"].iter()), None);
        assert_eq!(did_you_mean("zzz", known.iter()), "there are: workers, files, block");
    }

    #[test]
    fn globs() {
        assert!(
            glob("randread-*", "randread-4kib")
                && glob("*", "")
                && glob("a?c", "abc")
                && glob("*b*d", "abcbd")
        );
        assert!(!glob("a*", "ba") && !glob("a", "ab") && !glob("a?", "a") && !glob("", "a"));
    }

    proptest! {
        #[test]
        fn ids_made_are_ids(text in ".{0,16}") {
            let id = to_id(&text);
            prop_assert!(id.is_empty() || is_id(&id), "{id}");
        }

        #[test]
        fn globs_never_panic(pattern in "[ab*?é]{0,8}", text in "[abé]{0,8}") {
            glob(&pattern, &text);
            prop_assert!(glob("*", &text) && glob(&text, &text));
        }
    }
}
