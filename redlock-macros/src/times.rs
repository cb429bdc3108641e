//! The parameters that are times, and what they may be to one another.

use std::time::Duration;

use syn::{Expr, Lit};

use crate::args::Key;
use crate::errors::Errors;
use crate::plan::{MaxHold, MinValidity, Setting, Wait};
use crate::value::{TTL_TOO_SHORT, duration, fraction, literal};

/// The shortest ttl that leaves anything once drift is taken off.
const MIN_TTL: Duration = Duration::from_millis(10);
/// The runtime allows no more.
const LONGEST_TTL: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// What drift is beyond `ttl × clock_drift_factor`.
const DRIFT_BASE: Duration = Duration::from_millis(2);
/// The factor where the attribute gives none.
const DRIFT_FACTOR: f64 = 0.01;

/// Complains about a ttl that no lock can have.
pub(crate) fn check_ttl(
    value: &Expr,
    ttl: &Setting<Duration>,
    factor: Option<&Setting<f64>>,
    errors: &mut Errors,
) {
    let Setting::Literal(ttl) = *ttl else { return };
    if ttl < MIN_TTL {
        errors.under(value, TTL_TOO_SHORT);
        return;
    }
    if ttl > LONGEST_TTL {
        errors.under(value, "`ttl` is above a year; a lock that long is no lease");
        return;
    }
    if !ttl.subsec_nanos().is_multiple_of(1_000_000) {
        errors.under(value, "`ttl` must be a whole number of milliseconds");
        return;
    }
    let factor = match factor {
        None => DRIFT_FACTOR,
        Some(Setting::Literal(factor)) => *factor,
        Some(Setting::Expression(_)) => return,
    };
    // In seconds, as a `Duration` product panics where it overflows.
    let drift = ttl.as_secs_f64() * factor + DRIFT_BASE.as_secs_f64();
    if ttl.as_secs_f64() <= drift {
        let message = format!(
            "`ttl` must be more than its drift, `ttl` × {factor} + 2 ms; \
             give a longer `ttl` or a smaller `clock_drift_factor`"
        );
        errors.under(value, message);
    }
}

/// A time, or a part of the ttl: an integer is milliseconds, a number with a point is a part.
pub(crate) fn min_validity(
    value: &Expr,
    ttl: Option<&Setting<Duration>>,
    errors: &mut Errors,
) -> Option<Setting<MinValidity>> {
    let key = Key::MinValidity;
    if let Some(Lit::Float(_)) = literal(value) {
        return match fraction(key, value, errors)? {
            Setting::Literal(part) => Some(Setting::Literal(MinValidity::Fraction(part))),
            Setting::Expression(expression) => Some(Setting::Expression(expression)),
        };
    }
    Some(match duration(key, value, errors)? {
        Setting::Literal(time) => {
            if let Some(Setting::Literal(ttl)) = ttl
                && time >= *ttl
            {
                errors.under(
                    value,
                    "`min_validity` is not below `ttl`, so that no acquisition could ever succeed; \
                     give a shorter `min_validity` or a longer `ttl`",
                );
                return None;
            }
            Setting::Literal(MinValidity::Time(time))
        }
        Setting::Expression(expression) => Setting::Expression(expression),
    })
}

/// Whether the value is the word that stands in the place of a duration.
fn is_word(key: Key, value: &Expr) -> bool {
    matches!(literal(value), Some(Lit::Str(text)) if key.word() == Some(&*text.value()))
}

/// A time above zero, or `"forever"`.
pub(crate) fn wait(value: &Expr, errors: &mut Errors) -> Option<Setting<Wait>> {
    if is_word(Key::Wait, value) {
        return Some(Setting::Literal(Wait::Forever));
    }
    match duration(Key::Wait, value, errors)? {
        Setting::Literal(Duration::ZERO) => {
            errors.under(
                value,
                "a `wait` of zero leaves no time to ask the nodes; to try just once, write \
                 `retry_count = 0`",
            );
            None
        }
        Setting::Literal(time) => Some(Setting::Literal(Wait::Time(time))),
        Setting::Expression(expression) => Some(Setting::Expression(expression)),
    }
}

/// A time that is not below the ttl, or `"unlimited"`.
pub(crate) fn max_hold(
    value: &Expr,
    ttl: Option<&Setting<Duration>>,
    errors: &mut Errors,
) -> Option<Setting<MaxHold>> {
    if is_word(Key::MaxHold, value) {
        return Some(Setting::Literal(MaxHold::Unlimited));
    }
    match duration(Key::MaxHold, value, errors)? {
        Setting::Literal(Duration::ZERO) => {
            errors.under(
                value,
                "a `max_hold` of zero is no time; leave it out for a lock that is not renewed",
            );
            None
        }
        Setting::Literal(time) => {
            if let Some(Setting::Literal(ttl)) = ttl
                && time < *ttl
            {
                errors.under(
                    value,
                    "`max_hold` is below `ttl`, which the lock is held for anyway; give a longer \
                     `max_hold` or a shorter `ttl`",
                );
                return None;
            }
            Some(Setting::Literal(MaxHold::Time(time)))
        }
        Setting::Expression(expression) => Some(Setting::Expression(expression)),
    }
}

/// A time that is not above the ttl.
pub(crate) fn min_hold(
    value: &Expr,
    ttl: Option<&Setting<Duration>>,
    errors: &mut Errors,
) -> Option<Setting<Duration>> {
    let held = duration(Key::MinHold, value, errors)?;
    if let (Setting::Literal(held), Some(Setting::Literal(ttl))) = (&held, ttl)
        && held > ttl
    {
        errors.under(
            value,
            "`min_hold` is above `ttl`, after which the nodes free the lock by themselves; give a \
             shorter `min_hold` or a longer `ttl`",
        );
        return None;
    }
    Some(held)
}
