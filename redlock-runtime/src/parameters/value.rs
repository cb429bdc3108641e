//! The text form of values: in the file, in variables, and in reports.

use std::time::Duration;

use redlock_core::lease::OnLost;
use redlock_core::request::Renewal;

use super::types::{Counts, MinValidity, Mode, Wait};

/// What a source of the configuration says in the place of a value. A variable is always a text, or a number.
pub(crate) enum Said<'a> {
    Text(&'a str),
    /// The digits of a whole number in a variable.
    Digits(&'a str),
    Integer(i64),
    Float(f64),
    Is(bool),
    List(Vec<&'a str>),
    /// A table, a date, or a list of other things than texts.
    Other,
}

/// The type of a parameter, or of another value of the configuration.
pub(crate) trait Value: Sized {
    /// The forms of the value, for errors. What was said is never repeated: it may be a password in the
    /// wrong place.
    const EXPECTED: &'static str;

    /// Reads the value; `None` if it has another form.
    fn read(said: &Said<'_>) -> Option<Self>;

    /// The value as the file has it, for reports; `None` if the file has no word for it.
    fn written(self) -> Option<String> {
        None
    }
}

/// Reads a value.
///
/// # Errors
/// The forms of the value.
pub(crate) fn read<T: Value>(said: &Said<'_>) -> Result<T, String> {
    T::read(said).ok_or_else(|| format!("expected {}", T::EXPECTED))
}

/// `60000` or `"60s"`.
impl Value for Duration {
    const EXPECTED: &'static str = "milliseconds from 0 on as a number, or a time with its unit, such as \"60s\" or \"1m 30s\"";

    fn read(said: &Said<'_>) -> Option<Self> {
        match said {
            Said::Integer(millis) => (*millis).try_into().ok().map(Self::from_millis),
            Said::Digits(millis) => millis.parse().ok().map(Self::from_millis),
            // Without a unit it is refused, as in the attribute.
            Said::Text(text) => humantime::parse_duration(text).ok(),
            _ => None,
        }
    }

    fn written(self) -> Option<String> {
        Some(humantime::format_duration(self).to_string())
    }
}

macro_rules! whole_numbers {
    ($($type:ty: $most:literal;)+) => { $(
        impl Value for $type {
            const EXPECTED: &'static str = concat!("a whole number from 0 to ", $most);

            fn read(said: &Said<'_>) -> Option<Self> {
                match said {
                    Said::Integer(number) => (*number).try_into().ok(),
                    Said::Text(text) | Said::Digits(text) => text.trim().parse().ok(),
                    _ => None,
                }
            }

            fn written(self) -> Option<String> {
                Some(self.to_string())
            }
        }
    )+ };
}

whole_numbers! {
    u16: "65535";
    u32: "4294967295";
}

impl Value for f64 {
    const EXPECTED: &'static str = "a number such as 0.01";

    fn read(said: &Said<'_>) -> Option<Self> {
        match said {
            Said::Float(number) => Some(*number),
            Said::Integer(number) => i32::try_from(*number).ok().map(Self::from),
            Said::Text(text) | Said::Digits(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    fn written(self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Value for bool {
    const EXPECTED: &'static str = "`true` or `false`";

    fn read(said: &Said<'_>) -> Option<Self> {
        match said {
            Said::Is(is) => Some(*is),
            Said::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    fn written(self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Value for String {
    const EXPECTED: &'static str = "a text";

    fn read(said: &Said<'_>) -> Option<Self> {
        match said {
            Said::Text(text) | Said::Digits(text) => Some((*text).to_owned()),
            _ => None,
        }
    }
}

/// `["a", "b"]` or `"a, b"`.
impl Value for Vec<String> {
    const EXPECTED: &'static str =
        "a list of names, such as [\"a\", \"b\"]; \"a, b\" in a variable";

    fn read(said: &Said<'_>) -> Option<Self> {
        match said {
            Said::List(names) => Some(names.iter().map(|&name| name.to_owned()).collect()),
            Said::Text(names) | Said::Digits(names) => {
                let names = names.split(',').map(|name| name.trim().to_owned());
                Some(names.filter(|name| !name.is_empty()).collect())
            }
            _ => None,
        }
    }
}

impl<T: Value> Value for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn read(said: &Said<'_>) -> Option<Self> {
        T::read(said).map(Some)
    }
}

/// A duration, or a fraction of the ttl such as `0.66`.
impl Value for MinValidity {
    const EXPECTED: &'static str = "a time such as \"5s\", or a part of the ttl such as 0.66";

    fn read(said: &Said<'_>) -> Option<Self> {
        let time = Duration::read(said).map(Self::Time);
        time.or_else(|| f64::read(said).map(Self::Fraction))
    }

    fn written(self) -> Option<String> {
        match self {
            Self::Time(least) => least.written(),
            Self::Fraction(part) => part.written(),
        }
    }
}

const FOREVER: &str = "forever";

/// A duration, or `forever`.
impl Value for Wait {
    const EXPECTED: &'static str = "a time such as \"5s\", or \"forever\"";

    fn read(said: &Said<'_>) -> Option<Self> {
        match said {
            Said::Text(FOREVER) => Some(Self::Forever),
            _ => Duration::read(said).map(Self::For),
        }
    }

    fn written(self) -> Option<String> {
        match self {
            Self::For(budget) => budget.written(),
            Self::Forever => Some(FOREVER.to_owned()),
        }
    }
}

const UNLIMITED: &str = "unlimited";

/// A duration, or `unlimited`.
impl Value for Renewal {
    const EXPECTED: &'static str = "a time such as \"5s\", or \"unlimited\"";

    fn read(said: &Said<'_>) -> Option<Self> {
        match said {
            Said::Text(UNLIMITED) => Some(Self::Unlimited),
            _ => Duration::read(said).map(Self::For),
        }
    }

    fn written(self) -> Option<String> {
        match self {
            Self::For(held) => held.written(),
            Self::Unlimited => Some(UNLIMITED.to_owned()),
            _ => None,
        }
    }
}

/// A type whose values are words.
macro_rules! words {
    ($type:ident: $first:literal is $value:ident $(, $word:literal is $other:ident)*) => {
        impl $crate::parameters::Value for $type {
            const EXPECTED: &'static str = concat!("`", $first, "`" $(, " or `", $word, "`")*);

            fn read(said: &$crate::parameters::Said<'_>) -> Option<Self> {
                match said {
                    $crate::parameters::Said::Text($first) => Some(Self::$value),
                    $( $crate::parameters::Said::Text($word) => Some(Self::$other), )*
                    _ => None,
                }
            }

            fn written(self) -> Option<String> {
                let written = [(Self::$value, $first) $(, (Self::$other, $word))*];
                let found = written.into_iter().find(|(value, _)| *value == self);
                found.map(|(_, word)| word.to_owned())
            }
        }
    };
}

pub(crate) use words;

words!(OnLost: "cancel" is Cancel, "continue" is Continue);
words!(Mode: "read" is Read, "write" is Write);
words!(Counts: "success" is Success, "every" is Every);
