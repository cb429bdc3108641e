//! The parameters of a lock. [`LockOptions`] is a set of parameters, and the other types are those of single values.

// `table.rs` has one row for each parameter. The row makes the field and the setter of `LockOptions`, the setters of
// `LockBuilder`, `SiteConfig`, `SiteBuilder` and `LockSpec`, the key in the file, the variable, and the line in reports.
// `value.rs` has the text form of each type of value. Only the code that obeys a parameter is written separately:
// `SiteParameters::request` obeys the parameters of the protocol, and `acquire/mod.rs` the others.

mod options;
mod setters;
mod table;
mod types;
mod value;

use std::time::Duration;

use redlock_core::error::{Brief, Invalid};
use redlock_core::request::RetryLimit;
use redlock_core::{Request, Resource};

pub use redlock_core::lease::OnLost;
pub use redlock_core::request::{
    DEFAULT_CLOCK_DRIFT_FACTOR, DEFAULT_MIN_VALIDITY, DEFAULT_RETRY_COUNT, DEFAULT_RETRY_DELAY,
    DEFAULT_TTL, Kind, MAX_NOTE_BYTES, MaxHold, Note,
};

pub use options::LockOptions;
pub use types::{MinValidity, Remember, Wait};

pub(crate) use options::SiteParameters;
pub(crate) use setters::{argument, setter};
pub(crate) use value::{ConfigValue, RawValue, parse, words};

/// Imports for modules that expand the table: the types in its rows, and the macros.
pub(crate) mod prelude {
    pub(crate) use std::time::Duration;

    pub(crate) use super::options::LockOptions;
    pub(crate) use super::setters::{const_setters, setters};
    pub(crate) use super::table::for_each_parameter;
    pub(crate) use super::types::{MinValidity, Remember, Wait};
    pub(crate) use redlock_core::lease::OnLost;
    pub(crate) use redlock_core::request::{Kind, MaxHold};
}

impl SiteParameters {
    /// Returns a request for `resource` with the parameters that the protocol obeys.
    ///
    /// # Errors
    /// [`Invalid`] if the fraction of `min_validity` is out of range, if `remember` is set without `once_per`, and if two
    /// parameters ask for two kinds of lock. [`Request::check`] has the limits of the other values.
    pub(crate) fn request(&self, resource: Resource) -> Result<Request, Invalid> {
        if self.remember.is_some() && self.once_per.is_none() {
            return Err(Invalid::new(
                "`remember` without `once_per`, for which runs count; add it, or leave `remember` out",
            ));
        }
        let kind = match self.kinds()[..] {
            [] => Kind::default(),
            [(_, kind)] => kind,
            [(one, kind), (other, another), ..] => {
                return Err(Invalid::new(format!(
                    "`{one}` and `{other}` ask for two locks, {kind} and {another}; leave one of the two out",
                )));
            }
        };
        let retry_limit = match (self.wait, self.retry_count) {
            (Some(Wait::For(budget)), _) => RetryLimit::Wait(budget),
            (Some(Wait::Forever), _) => RetryLimit::Forever,
            (None, count) => RetryLimit::Count(count.unwrap_or_default()),
        };
        Ok(Request::new(resource)
            .ttl(self.ttl)
            .retry_limit(retry_limit)
            .retry_delay(self.retry_delay)
            .clock_drift_factor(self.clock_drift_factor)
            .min_validity(self.min_validity.of(self.ttl)?)
            .max_hold(self.max_hold)
            .fencing(self.fencing)
            .once_per(self.once_per)
            .kind(kind))
    }
}

/// Checks a ttl against `max_ttl`.
pub(crate) fn check_ttl(ttl: Duration, max_ttl: Duration) -> Result<(), Invalid> {
    if ttl <= max_ttl {
        return Ok(());
    }
    Err(Invalid::new(format!(
        "the ttl of {} is above `max_ttl`, {}; lower it, or raise `max_ttl` in the configuration",
        Brief(ttl),
        Brief(max_ttl),
    )))
}

#[cfg(test)]
mod tests {
    use super::prelude::*;
    use super::*;

    fn request(options: LockOptions) -> Result<Request, Invalid> {
        options.decided(false).request("r".into())
    }

    #[test]
    fn a_higher_layer_wins_value_by_value() {
        let seconds = Duration::from_secs;
        let lower = LockOptions::new().ttl(seconds(1)).retry_count(7);
        let higher = LockOptions::new()
            .wait(seconds(3))
            .on_lost(OnLost::Continue);
        let merged = higher.above(lower);
        assert_eq!(merged.ttl, Some(seconds(1)));
        assert_eq!(merged.wait, Some(Wait::For(seconds(3))));
        assert_eq!(merged.retry_count, None, "`wait` clears `retry_count`");
        assert_eq!(merged.on_lost, Some(OnLost::Continue));
        assert_eq!(merged.names(), ["ttl", "wait", "on_lost"]);
        let request = request(merged).unwrap();
        assert_eq!(request.ttl, seconds(1));
        assert_eq!(request.retry_delay, DEFAULT_RETRY_DELAY);
        assert_eq!(request.retry_limit, RetryLimit::Wait(seconds(3)));
    }

    #[test]
    fn of_two_answers_to_one_question_the_later_one_counts() {
        let options = LockOptions::new().wait(Wait::Forever).retry_count(3);
        assert_eq!((options.wait, options.retry_count), (None, Some(3)));
        let options = options.wait(Wait::Forever);
        let answers = (options.wait, options.retry_count);
        assert_eq!(answers, (Some(Wait::Forever), None));
    }

    #[test]
    fn the_built_in_values_are_those_of_the_protocol() {
        let built_in = request(LockOptions::NONE).unwrap();
        let protocol = Request::new("r");
        assert_eq!(format!("{built_in:?}"), format!("{protocol:?}"));
        let decided = LockOptions::NONE.decided(false);
        assert_eq!(decided.on_lost, OnLost::default());
    }

    #[test]
    fn a_kind_and_permits_do_not_go_together() {
        let kind = |options| request(options).map(|request| request.kind);
        let reads = LockOptions::new().kind(Kind::Read);
        assert_eq!(kind(reads).unwrap(), Kind::Read);
        for (asked, word) in [(Kind::Read, "a read lock"), (Kind::Write, "a write lock")] {
            let both = LockOptions::new().kind(asked).permits(4);
            let text = kind(both).unwrap_err().to_string();
            assert!(
                text.contains(word) && text.contains("one of 4 permits"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_run_counts_for_a_period() {
        let every = LockOptions::new().remember(Remember::EveryRun);
        let alone = request(every).unwrap_err().to_string();
        assert!(alone.contains("`remember` without `once_per`"), "{alone}");
        request(every.once_per(Duration::from_secs(3600))).unwrap();
    }

    #[test]
    fn permits_are_a_kind() {
        let of = |permits| request(LockOptions::new().permits(permits)).unwrap();
        assert_eq!(of(4).kind, Kind::Permits(4));
        assert!(of(1_000_000).check().is_err());
    }

    #[test]
    fn a_fraction_is_of_the_ttl_that_won() {
        let options = |part: f64| {
            let options = LockOptions::new().ttl(Duration::from_secs(10));
            options.min_validity(part)
        };
        let half = request(options(0.5)).unwrap();
        assert_eq!(half.min_validity, Duration::from_secs(5));
        for part in [1.0, -0.1, f64::NAN] {
            let refused = request(options(part)).unwrap_err();
            assert!(refused.to_string().contains("min_validity"), "{refused}");
        }
    }
}
