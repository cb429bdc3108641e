//! Rules for single durations and for pairs of durations.

use std::time::Duration;

use crate::errors::Errors;
use crate::parameters::Key;
use crate::parse::Args;
use crate::plan::PlainValues;

/// A copy of the limit in `redlock-core`, because this crate does not depend on that one.
/// `init` checks the other rules for a ttl, because they need the drift factor of the configuration.
const MIN_TTL: Duration = Duration::from_millis(10);

/// Reports invalid durations, if they are known at compile time.
pub(crate) fn check_times(args: &Args, values: &PlainValues, errors: &mut Errors) {
    let ttl = values.time(Key::Ttl);
    for key in Key::EACH {
        let Some((value, time)) = args.get(*key).zip(values.time(*key)) else {
            continue;
        };
        let is_below = ttl.is_some_and(|ttl| time < ttl);
        let message = match key {
            Key::Ttl if time < MIN_TTL => {
                "`ttl` must be at least 10 ms; write `ttl = 60_000` or `ttl = \"60s\"`"
            }
            Key::Wait if time.is_zero() => {
                "a `wait` of zero leaves no time to ask the nodes; to try just once, write \
                 `retry_count = 0`"
            }
            Key::MinValidity if ttl.is_some_and(|ttl| time >= ttl) => {
                "`min_validity` must be shorter than `ttl`, or no acquisition could succeed; \
                 give a shorter `min_validity` or a longer `ttl`"
            }
            Key::MaxHold if time.is_zero() => {
                "`max_hold` must be longer than zero; leave it out for a lock that is not renewed"
            }
            Key::MaxHold if is_below => {
                "`max_hold` is shorter than `ttl`, for which the lock is held anyway; give a longer \
                 `max_hold` or a shorter `ttl` (a number is milliseconds)"
            }
            Key::OncePer if time.is_zero() => {
                "`once_per` must be longer than zero; leave it out for a function that runs at each call"
            }
            Key::OncePer if is_below => {
                "`once_per` is shorter than `ttl`, for which the lock of a killed process stays; give a longer \
                 `once_per` or a shorter `ttl`"
            }
            _ => continue,
        };
        errors.under(value, message);
    }
}
