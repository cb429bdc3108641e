//! Rules for durations: each by itself, and between two of them.

use std::time::Duration;

use syn::Expr;

use crate::args::Args;
use crate::errors::Errors;
use crate::parameters::Key;
use crate::plan::{Setting, Settings, Value};
use crate::value::TTL_TOO_SHORT;

// Copies of `redlock-core`'s limits, because this crate cannot import `redlock-core`. A test compares them.

/// The shortest ttl whose validity is above zero after the drift is subtracted.
const MIN_TTL: Duration = Duration::from_millis(10);
/// The longest ttl that the runtime allows.
const MAX_TTL: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// The constant part of the drift, added to `ttl × clock_drift_factor`.
const DRIFT_BASE: Duration = Duration::from_millis(2);
/// The drift factor of an attribute without one.
const DRIFT_FACTOR: f64 = 0.01;

/// Reports durations that no lock can have, if they are known at compile time.
pub(crate) fn check_times(args: &Args, settings: &Settings, errors: &mut Errors) {
    let given = |key| Some((args.get(key)?, settings.time(key)?));
    let ttl = settings.time(Key::Ttl);
    if let Some((value, ttl)) = given(Key::Ttl) {
        check_ttl(value, ttl, settings.get(Key::ClockDriftFactor), errors);
    }
    if let Some((value, Duration::ZERO)) = given(Key::Wait) {
        errors.under(
            value,
            "a `wait` of zero leaves no time to ask the nodes; to try just once, write \
             `retry_count = 0`",
        );
    }
    if let Some((value, least)) = given(Key::MinValidity)
        && ttl.is_some_and(|ttl| least >= ttl)
    {
        errors.under(
            value,
            "`min_validity` is not below `ttl`, so that no acquisition could ever succeed; \
             give a shorter `min_validity` or a longer `ttl`",
        );
    }
    match given(Key::MaxHold) {
        Some((value, Duration::ZERO)) => errors.under(
            value,
            "a `max_hold` of zero is no time; leave it out for a lock that is not renewed",
        ),
        Some((value, held)) if ttl.is_some_and(|ttl| held < ttl) => errors.under(
            value,
            "`max_hold` is below `ttl`, which the lock is held for anyway; give a longer \
             `max_hold` or a shorter `ttl`",
        ),
        _ => {}
    }
    match given(Key::OncePer) {
        Some((value, Duration::ZERO)) => errors.under(
            value,
            "a `once_per` of zero is no period; leave it out for a function that runs at each call",
        ),
        Some((value, period)) if ttl.is_some_and(|ttl| period < ttl) => errors.under(
            value,
            "`once_per` is below `ttl`, for which the lock of a killed process stays; give a longer \
             `once_per` or a shorter `ttl`",
        ),
        Some((value, period)) if period > MAX_TTL => errors.under(
            value,
            "`once_per` is above a year; no node remembers a run for that long",
        ),
        _ => {}
    }
}

fn check_ttl(value: &Expr, ttl: Duration, factor: Option<&Setting>, errors: &mut Errors) {
    if ttl < MIN_TTL {
        errors.under(value, TTL_TOO_SHORT);
        return;
    }
    if ttl > MAX_TTL {
        errors.under(value, "`ttl` is above a year; a lock that long is no lease");
        return;
    }
    if !ttl.subsec_nanos().is_multiple_of(1_000_000) {
        errors.under(value, "`ttl` must be a whole number of milliseconds");
        return;
    }
    let factor = match factor {
        None => DRIFT_FACTOR,
        Some(Setting::Literal(Value::Fraction(factor))) => *factor,
        Some(_) => return,
    };
    // The drift is computed in seconds, because a product of a `Duration` panics on overflow.
    let drift = ttl.as_secs_f64() * factor + DRIFT_BASE.as_secs_f64();
    if ttl.as_secs_f64() <= drift {
        let message = format!(
            "`ttl` must be more than its drift, `ttl` × {factor} + 2 ms; \
             give a longer `ttl` or a smaller `clock_drift_factor`"
        );
        errors.under(value, message);
    }
}

#[cfg(test)]
mod tests {
    use redlock_core::Request;
    use syn::parse_quote;

    use super::*;

    fn is_refused(ttl: Duration, factor: Option<f64>) -> bool {
        let factor = factor.map(|factor| Setting::Literal(Value::Fraction(factor)));
        let mut errors = Errors::default();
        check_ttl(&parse_quote!(ttl), ttl, factor.as_ref(), &mut errors);
        !errors.messages().is_empty()
    }

    /// Each limit has a ttl on either side.
    #[test]
    fn a_ttl_is_refused_here_if_core_refuses_it() {
        assert_eq!(MIN_TTL, redlock_core::request::MIN_TTL);
        assert_eq!(MAX_TTL, redlock_core::request::MAX_TTL);
        let ms = Duration::from_millis;
        let table = [
            (MIN_TTL.saturating_sub(ms(1)), None, true),
            (MIN_TTL, None, false),
            (MAX_TTL, None, false),
            (MAX_TTL + ms(1), None, true),
            (ms(11), None, false),
            (Duration::from_micros(10_500), None, true),
            (MIN_TTL, Some(0.79), false),
            (MIN_TTL, Some(0.81), true),
            (ms(199), Some(0.99), true),
            (ms(201), Some(0.99), false),
            (MAX_TTL, Some(0.999_999), false),
        ];
        let usual = Request::new("r").clock_drift_factor;
        assert!((DRIFT_FACTOR - usual).abs() < f64::EPSILON);
        for (ttl, factor, expected) in table {
            let by_core = redlock_core::request::check_ttl(ttl, factor.unwrap_or(usual)).is_err();
            assert_eq!(by_core, expected, "core: {ttl:?}, {factor:?}");
            assert_eq!(is_refused(ttl, factor), expected, "{ttl:?}, {factor:?}");
        }
    }
}
