//! Durations in configuration: an integer of milliseconds, or text with a unit; and what else may
//! stand in the place of one.

use std::fmt;
use std::time::Duration;

use redlock_core::Renewal;
use serde::de::{Deserialize, Deserializer, Error, Visitor};

use crate::parameters::{MinValidity, Wait};

/// `60000` or `"60s"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span(pub(super) Duration);

impl Span {
    fn of_millis<E: Error>(millis: i64) -> Result<Self, E> {
        let millis = u64::try_from(millis).map_err(|_| E::custom("a time is not negative"))?;
        Ok(Self(Duration::from_millis(millis)))
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Ok(millis) = text.parse() {
            return Ok(Self(Duration::from_millis(millis)));
        }
        // Neither the text nor its error, which quotes it: it may be a password in the wrong place.
        let parsed = humantime::parse_duration(text).map(Self);
        parsed.map_err(|_| "this is no duration; write milliseconds, or `60s`, `1m 30s`".to_owned())
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Span;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("milliseconds, or a text such as \"60s\"")
            }

            fn visit_i64<E: Error>(self, millis: i64) -> Result<Span, E> {
                Span::of_millis(millis)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Span, E> {
                Span::parse(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// A duration, or a part of the ttl such as `0.66`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Least(pub(super) MinValidity);

impl Least {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.parse::<f64>() {
            Ok(part) if text.contains('.') => Ok(Self(part.into())),
            _ => Span::parse(text).map(|Span(span)| Self(span.into())),
        }
    }
}

impl<'de> Deserialize<'de> for Least {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(
            untagged,
            expecting = "a time such as \"5s\", or a part of the ttl such as 0.66"
        )]
        enum Either {
            Time(Span),
            Part(f64),
        }
        Ok(Self(match Either::deserialize(deserializer)? {
            Either::Time(Span(span)) => span.into(),
            Either::Part(part) => part.into(),
        }))
    }
}

/// A duration, or a word in its place: then `None`.
fn parse_or(word: &str, text: &str) -> Result<Option<Duration>, String> {
    if text == word {
        return Ok(None);
    }
    let span = Span::parse(text).map_err(|why| format!("{why}, or `{word}`"))?;
    Ok(Some(span.0))
}

fn deserialize_or<'de, D: Deserializer<'de>>(
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
            Span::of_millis(millis).map(|span| Some(span.0))
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            parse_or(self.0, text).map_err(E::custom)
        }
    }
    deserializer.deserialize_any(Either(word))
}

/// A duration, or `forever`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting(pub(super) Wait);

impl Waiting {
    const WORD: &str = "forever";

    fn of(time: Option<Duration>) -> Self {
        Self(time.map_or(Wait::Forever, Wait::For))
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        parse_or(Self::WORD, text).map(Self::of)
    }
}

impl<'de> Deserialize<'de> for Waiting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_or(Self::WORD, deserializer).map(Self::of)
    }
}

/// A duration, or `unlimited`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hold(pub(super) Renewal);

impl Hold {
    const WORD: &str = "unlimited";

    fn of(time: Option<Duration>) -> Self {
        Self(time.map_or(Renewal::Unlimited, Renewal::For))
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        parse_or(Self::WORD, text).map(Self::of)
    }
}

impl<'de> Deserialize<'de> for Hold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_or(Self::WORD, deserializer).map(Self::of)
    }
}
