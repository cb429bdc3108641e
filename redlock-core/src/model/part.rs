//! Parts of names, made from any text.

use std::fmt::{Display, Write as _};

use super::resource::Resource;

/// The longest part, in bytes.
const MAX_BYTES: usize = 64;

/// The bytes kept in front of the digest of 40 digits. The whole part then has 64 bytes.
const SHOWN: usize = 23;

impl Resource {
    /// Returns `value` as one part of a name. Every byte that could be mistaken for a separator is escaped, and the
    /// part has at most 64 bytes. `{name:part}` does the same in a template.
    ///
    /// Letters, digits, `-`, `.`, `_` and `~` stay as they are. Any other byte becomes `%` and two hex digits. If the
    /// result is longer than 64 bytes, the part is its beginning, `*`, and the SHA-1 of the whole text. The wire format
    /// has the details, which are the same in every version and on every platform.
    ///
    /// Put a `:` between two parts, or another character that is escaped in both.
    ///
    /// # Example: two texts that would meet in one key
    /// ```
    /// use redlock_core::Resource;
    ///
    /// let key = |tenant, name| format!("{}:{}", Resource::part(tenant), Resource::part(name));
    /// assert_eq!(key("a:b", "c"), "a%3Ab:c");
    /// assert_eq!(key("a", "b:c"), "a:b%3Ac");
    /// ```
    ///
    /// # Panics
    /// If `value` fails to format, as `to_string` does.
    pub fn part(value: impl Display) -> String {
        let text = value.to_string();
        let mut part = String::with_capacity(text.len());
        let mut shown = 0;
        for byte in text.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                part.push(char::from(byte));
            } else {
                write!(part, "%{byte:02X}").expect("a String takes all");
            }
            if part.len() <= SHOWN {
                shown = part.len();
            }
        }
        if part.len() > MAX_BYTES {
            part.truncate(shown);
            let digest = sha1_smol::Sha1::from(&text).digest();
            write!(part, "*{digest}").expect("a String takes all");
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares parts with the test vectors of the wire format.
    #[test]
    fn a_part_is_what_the_wire_format_says() {
        let wire_format = include_str!("../../../redlock-runtime/guide/reference/wire_format.md");
        let (a64, a65) = ("a".repeat(64), "a".repeat(65));
        let table = [
            ("", ""),
            ("42", "42"),
            ("a:b", "a%3Ab"),
            ("a%3Ab", "a%253Ab"),
            ("{tag}*", "%7Btag%7D%2A"),
            ("größe 1\n", "gr%C3%B6%C3%9Fe%201%0A"),
            ("-._~", "-._~"),
            (&a64, &a64),
            (
                &a65,
                "aaaaaaaaaaaaaaaaaaaaaaa*11655326c708d70319be2610e8a57d9a5b959d3b",
            ),
            (
                "Mr. & Mrs. Sherlock Holmes, 221B Baker Street, London NW1 6XE",
                "Mr.%20%26%20Mrs.%20Sher*0d2b94065488ca777f3a52b774997f66ef33f77e",
            ),
        ];
        for (text, part) in table {
            assert_eq!(Resource::part(text), part, "{text}");
            let told = match part {
                "" => String::new(),
                part if part == a64 => "| 64 times `a` | 64 times `a` |".to_owned(),
                part => format!("`{part}`"),
            };
            assert!(wire_format.contains(&told), "{part}");
        }
    }

    #[test]
    fn no_part_is_longer_than_64_bytes_or_ends_within_an_escape() {
        for length in 0..200 {
            for text in ["x".repeat(length), "%".repeat(length), "ü".repeat(length)] {
                let part = Resource::part(&text);
                assert!(part.len() <= MAX_BYTES, "{part}");
                let (shown, digest) = part.split_once('*').unwrap_or((&part, ""));
                assert!(matches!(digest.len(), 0 | 40), "{part}");
                let mut escapes = shown.split('%').skip(1);
                let is_whole = |it: &str| it.len() == 2 && u8::from_str_radix(it, 16).is_ok();
                assert!(escapes.all(is_whole), "{part}");
            }
        }
    }

    /// Compares the parts of all combinations of up to three letters, alone and repeated.
    #[test]
    fn different_texts_are_different_parts() {
        let letters = ["", "a", "%", ":", "3", "A", "*", "ü", "\0"];
        let mut seen = std::collections::BTreeMap::new();
        for one in letters {
            for two in letters {
                for three in letters {
                    for times in [1, 30] {
                        let text = [one, two, three].concat().repeat(times);
                        let part = Resource::part(&text);
                        assert!(!part.contains(':'), "{part}");
                        let before = seen.insert(part, text.clone());
                        assert!(before.is_none_or(|it| it == text), "{text}");
                    }
                }
            }
        }
    }
}
