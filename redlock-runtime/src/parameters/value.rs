//! The text form of values: in the file, in variables, and in reports.

use std::fmt;
use std::time::Duration;

use redlock_core::lease::OnLost;
use redlock_core::request::Renewal;
use serde::de::{Deserialize, Deserializer, Error, Visitor};

use super::types::{Counts, MinValidity, Mode, Wait};

/// The type of a parameter, or of another value of the configuration.
pub(crate) trait Value: Copy {
    /// Reads the value of a key in the file.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;

    /// Reads the text of a variable.
    ///
    /// # Errors
    /// The expected form. The error does not repeat `text`, which may be a password in the wrong
    /// place.
    fn parse(text: &str) -> Result<Self, String>;

    /// The value as the file has it, for reports; `None` if the file has no word for it.
    fn written(self) -> Option<String>;
}

/// For `#[serde(deserialize_with = "given")]` at a key that may be left out.
pub(crate) fn given<'de, T: Value, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::read(deserializer).map(Some)
}

/// `60000` or `"60s"`.
impl Value for Duration {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Duration;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("milliseconds, or a text such as \"60s\"")
            }

            fn visit_i64<E: Error>(self, millis: i64) -> Result<Duration, E> {
                of_millis(millis)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Duration, E> {
                Duration::parse(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Either)
    }

    fn parse(text: &str) -> Result<Self, String> {
        if let Ok(millis) = text.parse() {
            return Ok(Self::from_millis(millis));
        }
        // The error is not repeated either: it quotes the text.
        let parsed = humantime::parse_duration(text);
        parsed.map_err(|_| "this is no duration; write milliseconds, or `60s`, `1m 30s`".to_owned())
    }

    fn written(self) -> Option<String> {
        Some(humantime::format_duration(self).to_string())
    }
}

fn of_millis<E: Error>(millis: i64) -> Result<Duration, E> {
    let millis = u64::try_from(millis).map_err(|_| E::custom("a time is not negative"))?;
    Ok(Duration::from_millis(millis))
}

impl Value for u32 {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }

    fn parse(text: &str) -> Result<Self, String> {
        number(text, "3")
    }

    fn written(self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Value for f64 {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }

    fn parse(text: &str) -> Result<Self, String> {
        number(text, "0.01")
    }

    fn written(self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Value for bool {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }

    fn parse(text: &str) -> Result<Self, String> {
        one_of(text, &[("true", true), ("false", false)])
    }

    fn written(self) -> Option<String> {
        Some(self.to_string())
    }
}

/// A duration, or a fraction of the ttl such as `0.66`.
impl Value for MinValidity {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(
            untagged,
            expecting = "a time such as \"5s\", or a part of the ttl such as 0.66"
        )]
        enum Either {
            Time(#[serde(deserialize_with = "Value::read")] Duration),
            Part(f64),
        }
        Ok(match Either::deserialize(deserializer)? {
            Either::Time(time) => time.into(),
            Either::Part(part) => part.into(),
        })
    }

    fn parse(text: &str) -> Result<Self, String> {
        match text.parse::<f64>() {
            Ok(part) if text.contains('.') => Ok(part.into()),
            _ => Duration::parse(text).map(Self::Time),
        }
    }

    fn written(self) -> Option<String> {
        match self {
            Self::Time(least) => least.written(),
            Self::Fraction(part) => part.written(),
        }
    }
}

/// A duration, or `forever`.
impl Value for Wait {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let time = read_or(FOREVER, deserializer)?;
        Ok(time.map_or(Self::Forever, Self::For))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let time = parse_or(FOREVER, text)?;
        Ok(time.map_or(Self::Forever, Self::For))
    }

    fn written(self) -> Option<String> {
        match self {
            Self::For(budget) => budget.written(),
            Self::Forever => Some(FOREVER.to_owned()),
        }
    }
}

/// A duration, or `unlimited`.
impl Value for Renewal {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let time = read_or(UNLIMITED, deserializer)?;
        Ok(time.map_or(Self::Unlimited, Self::For))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let time = parse_or(UNLIMITED, text)?;
        Ok(time.map_or(Self::Unlimited, Self::For))
    }

    fn written(self) -> Option<String> {
        match self {
            Self::For(held) => held.written(),
            Self::Unlimited => Some(UNLIMITED.to_owned()),
            _ => None,
        }
    }
}

const FOREVER: &str = "forever";
const UNLIMITED: &str = "unlimited";

/// Parses a duration, or the word in its place: then `None`.
fn parse_or(word: &str, text: &str) -> Result<Option<Duration>, String> {
    if text == word {
        return Ok(None);
    }
    let time = Duration::parse(text);
    time.map(Some).map_err(|why| format!("{why}, or `{word}`"))
}

/// Reads a duration, or the word in its place: then `None`.
fn read_or<'de, D: Deserializer<'de>>(
    word: &'static str,
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    struct Either(&'static str);
    impl Visitor<'_> for Either {
        type Value = Option<Duration>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a time such as \"5s\", or \"{}\"", self.0)
        }

        fn visit_i64<E: Error>(self, millis: i64) -> Result<Self::Value, E> {
            of_millis(millis).map(Some)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            parse_or(self.0, text).map_err(E::custom)
        }
    }
    deserializer.deserialize_any(Either(word))
}

const ON_LOST: [(&str, OnLost); 2] = [("cancel", OnLost::Cancel), ("continue", OnLost::Continue)];

impl Value for OnLost {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(remote = "OnLost", rename_all = "lowercase")]
        enum Word {
            Cancel,
            Continue,
        }
        Word::deserialize(deserializer)
    }

    fn parse(text: &str) -> Result<Self, String> {
        one_of(text, &ON_LOST)
    }

    fn written(self) -> Option<String> {
        word_of(self, &ON_LOST)
    }
}

const MODE: [(&str, Mode); 2] = [
    (Mode::Read.as_str(), Mode::Read),
    (Mode::Write.as_str(), Mode::Write),
];

impl Value for Mode {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(remote = "Mode", rename_all = "lowercase")]
        enum Word {
            Read,
            Write,
        }
        Word::deserialize(deserializer)
    }

    fn parse(text: &str) -> Result<Self, String> {
        one_of(text, &MODE)
    }

    fn written(self) -> Option<String> {
        word_of(self, &MODE)
    }
}

const COUNTS: [(&str, Counts); 2] = [("success", Counts::Success), ("every", Counts::Every)];

impl Value for Counts {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(remote = "Counts", rename_all = "lowercase")]
        enum Word {
            Success,
            Every,
        }
        Word::deserialize(deserializer)
    }

    fn parse(text: &str) -> Result<Self, String> {
        one_of(text, &COUNTS)
    }

    fn written(self) -> Option<String> {
        word_of(self, &COUNTS)
    }
}

/// Parses a number.
///
/// # Errors
/// A valid number as an example. The text is not repeated.
pub(crate) fn number<N: std::str::FromStr>(text: &str, example: &str) -> Result<N, String> {
    let number = text.trim().parse();
    number.map_err(|_| format!("this is not a number such as {example}"))
}

/// The choice with that name.
///
/// # Errors
/// The names of all choices. The text is not repeated.
pub(crate) fn one_of<T: Copy>(text: &str, choices: &[(&str, T)]) -> Result<T, String> {
    let chosen = choices.iter().find(|(name, _)| *name == text);
    chosen.map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<String> = choices
            .iter()
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        format!("this is none of {}", names.join(", "))
    })
}

fn word_of<T: Copy + PartialEq>(value: T, words: &[(&str, T)]) -> Option<String> {
    let found = words.iter().find(|(_, it)| *it == value);
    found.map(|(word, _)| (*word).to_owned())
}
