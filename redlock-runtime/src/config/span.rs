//! Durations in configuration: an integer of milliseconds, or text with a unit.

use std::fmt;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

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
