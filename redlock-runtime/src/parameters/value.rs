//! The text form of values: in the file, in variables, and in reports.

use std::path::PathBuf;
use std::time::Duration;

use redlock_core::lease::OnLost;
use redlock_core::request::{Kind, MaxHold};

use super::types::{MinValidity, Remember, Wait};

/// The raw value of a key in the file, or of a variable. A variable is always a text, or a whole number.
pub(crate) enum RawValue<'a> {
    Text(&'a str),
    /// The digits of a whole number in a variable.
    Digits(&'a str),
    Integer(i64),
    Float(f64),
    Bool(bool),
    List(Vec<&'a str>),
    /// A table, a date, or a list with other values than texts.
    Other,
}

/// A type of values in the configuration.
pub(crate) trait ConfigValue: Sized {
    /// The expected values, for errors. An error never repeats the raw value, which may be a password in the wrong
    /// place.
    const EXPECTED: &'static str;

    /// Returns the value, or `None` if `raw` is not an expected value.
    fn parse(raw: &RawValue<'_>) -> Option<Self>;

    /// Returns the value in the form of the file, for reports. `None` if the file cannot express the value.
    fn to_toml(self) -> Option<String> {
        None
    }
}

/// Parses a value.
///
/// # Errors
/// Returns a text that names the expected values.
pub(crate) fn parse<T: ConfigValue>(raw: &RawValue<'_>) -> Result<T, String> {
    T::parse(raw).ok_or_else(|| format!("expected {}", T::EXPECTED))
}

/// Milliseconds as a number, or a text with a unit: `60000` or `"60s"`.
impl ConfigValue for Duration {
    const EXPECTED: &'static str = "milliseconds from 0 on as a number, or a time with its unit, such as \"60s\" or \"1m 30s\"";

    fn parse(raw: &RawValue<'_>) -> Option<Self> {
        match raw {
            RawValue::Integer(millis) => (*millis).try_into().ok().map(Self::from_millis),
            RawValue::Digits(millis) => millis.parse().ok().map(Self::from_millis),
            // This parser needs a unit, as the attribute does.
            RawValue::Text(text) => humantime::parse_duration(text).ok(),
            _ => None,
        }
    }

    fn to_toml(self) -> Option<String> {
        Some(humantime::format_duration(self).to_string())
    }
}

/// Implements `ConfigValue` for types whose text is the same in Rust and in the configuration. A row has the type, the
/// expected values, and the further raw values that it accepts.
macro_rules! values_as_in_rust {
    ($($type:ty: $expected:literal, $($variant:ident($value:ident) => $parsed:expr),+;)+) => { $(
        impl ConfigValue for $type {
            const EXPECTED: &'static str = $expected;

            fn parse(raw: &RawValue<'_>) -> Option<Self> {
                match raw {
                    $( RawValue::$variant($value) => $parsed, )+
                    RawValue::Text(text) | RawValue::Digits(text) => text.trim().parse().ok(),
                    _ => None,
                }
            }

            fn to_toml(self) -> Option<String> {
                Some(self.to_string())
            }
        }
    )+ };
}

values_as_in_rust! {
    u16: "a whole number from 0 to 65535", Integer(number) => (*number).try_into().ok();
    u32: "a whole number from 0 to 4294967295", Integer(number) => (*number).try_into().ok();
    f64: "a number such as 0.01",
        Float(number) => Some(*number), Integer(number) => i32::try_from(*number).ok().map(Self::from);
    bool: "`true` or `false`", Bool(is) => Some(*is);
}

impl ConfigValue for String {
    const EXPECTED: &'static str = "a text";

    fn parse(raw: &RawValue<'_>) -> Option<Self> {
        match raw {
            RawValue::Text(text) | RawValue::Digits(text) => Some((*text).to_owned()),
            _ => None,
        }
    }
}

impl ConfigValue for PathBuf {
    const EXPECTED: &'static str = "the path of a file";

    fn parse(raw: &RawValue<'_>) -> Option<Self> {
        String::parse(raw).map(Self::from)
    }
}

/// A list, or a text with commas: `["a", "b"]` or `"a, b"`.
impl ConfigValue for Vec<String> {
    const EXPECTED: &'static str =
        "a list of names, such as [\"a\", \"b\"]; \"a, b\" in a variable";

    fn parse(raw: &RawValue<'_>) -> Option<Self> {
        match raw {
            RawValue::List(names) => Some(names.iter().map(|&name| name.to_owned()).collect()),
            RawValue::Text(names) | RawValue::Digits(names) => {
                let names = names.split(',').map(|name| name.trim().to_owned());
                Some(names.filter(|name| !name.is_empty()).collect())
            }
            _ => None,
        }
    }
}

impl<T: ConfigValue> ConfigValue for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn parse(raw: &RawValue<'_>) -> Option<Self> {
        T::parse(raw).map(Some)
    }
}

/// A duration, or a fraction of the ttl, such as `0.66`.
impl ConfigValue for MinValidity {
    const EXPECTED: &'static str = "a time such as \"5s\", or a part of the ttl such as 0.66";

    fn parse(raw: &RawValue<'_>) -> Option<Self> {
        let time = Duration::parse(raw).map(Self::Time);
        time.or_else(|| f64::parse(raw).map(Self::Fraction))
    }

    fn to_toml(self) -> Option<String> {
        match self {
            Self::Time(least) => least.to_toml(),
            Self::Fraction(part) => part.to_toml(),
        }
    }
}

/// The kinds of the parameter `kind`: `read` or `write`. Permits have their own parameter.
impl ConfigValue for Kind {
    const EXPECTED: &'static str = "`read` or `write`";

    fn parse(raw: &RawValue<'_>) -> Option<Self> {
        let mut kinds = [Self::Read, Self::Write].into_iter();
        kinds.find(|kind| matches!(raw, RawValue::Text(word) if *word == kind.label()))
    }

    fn to_toml(self) -> Option<String> {
        Some(self.label().to_owned())
    }
}

/// Implements `ConfigValue` for types whose values are a time or one word.
macro_rules! times_or_word {
    ($($type:ident: $word:literal is $value:ident;)+) => { $(
        impl ConfigValue for $type {
            const EXPECTED: &'static str = concat!("a time such as \"5s\", or \"", $word, "\"");

            fn parse(raw: &RawValue<'_>) -> Option<Self> {
                match raw {
                    RawValue::Text($word) => Some(Self::$value),
                    _ => Duration::parse(raw).map(Self::For),
                }
            }

            fn to_toml(self) -> Option<String> {
                match self {
                    Self::For(time) => time.to_toml(),
                    other => (other == Self::$value).then(|| $word.to_owned()),
                }
            }
        }
    )+ };
}

times_or_word! {
    Wait: "forever" is Forever;
    MaxHold: "unlimited" is Unlimited;
}

/// Implements `ConfigValue` for a type whose values are words.
macro_rules! words {
    ($type:ident: $first:literal is $value:ident $(, $word:literal is $other:ident)*) => {
        impl $crate::parameters::ConfigValue for $type {
            const EXPECTED: &'static str = concat!("`", $first, "`" $(, " or `", $word, "`")*);

            fn parse(raw: &$crate::parameters::RawValue<'_>) -> Option<Self> {
                match raw {
                    $crate::parameters::RawValue::Text($first) => Some(Self::$value),
                    $( $crate::parameters::RawValue::Text($word) => Some(Self::$other), )*
                    _ => None,
                }
            }

            fn to_toml(self) -> Option<String> {
                let written = [(Self::$value, $first) $(, (Self::$other, $word))*];
                let found = written.into_iter().find(|(value, _)| *value == self);
                found.map(|(_, word)| word.to_owned())
            }
        }
    };
}

pub(crate) use words;

words!(OnLost: "cancel" is Cancel, "continue" is Continue);
words!(Remember: "success" is Success, "every_run" is EveryRun);
