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
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Ok(millis) = text.parse() {
            return Ok(Self(Duration::from_millis(millis)));
        }
        humantime::parse_duration(text).map(Self).map_err(|error| {
            format!("`{text}` is no duration ({error}); write milliseconds, or `60s`, `1m 30s`")
        })
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
                let millis = u64::try_from(millis)
                    .map_err(|_| E::custom(format!("`{millis}` ms is negative")))?;
                Ok(Span(Duration::from_millis(millis)))
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

/// A duration, or `forever`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting(pub(super) Wait);

impl Waiting {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text == "forever" {
            return Ok(Self(Wait::Forever));
        }
        let Span(span) = Span::parse(text).map_err(|why| format!("{why}, or `forever`"))?;
        Ok(Self(Wait::For(span)))
    }
}

impl<'de> Deserialize<'de> for Waiting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged, expecting = "a time such as \"5s\", or \"forever\"")]
        enum Either {
            Time(Span),
            Word(Word),
        }
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Word {
            Forever,
        }
        Ok(Self(match Either::deserialize(deserializer)? {
            Either::Time(Span(span)) => Wait::For(span),
            Either::Word(Word::Forever) => Wait::Forever,
        }))
    }
}

/// A duration, or `unlimited`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hold(pub(super) Renewal);

impl Hold {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text == "unlimited" {
            return Ok(Self(Renewal::Unlimited));
        }
        let Span(span) = Span::parse(text).map_err(|why| format!("{why}, or `unlimited`"))?;
        Ok(Self(Renewal::For(span)))
    }
}

impl<'de> Deserialize<'de> for Hold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged, expecting = "a time such as \"10m\", or \"unlimited\"")]
        enum Either {
            Time(Span),
            Word(Word),
        }
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Word {
            Unlimited,
        }
        Ok(Self(match Either::deserialize(deserializer)? {
            Either::Time(Span(span)) => Renewal::For(span),
            Either::Word(Word::Unlimited) => Renewal::Unlimited,
        }))
    }
}
