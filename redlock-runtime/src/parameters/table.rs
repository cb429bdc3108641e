//! The table of all parameters of a lock.
//!
//! A row has the documentation of the setters, the name, and the type. The name is the same everywhere. For example,
//! `ttl` is the setter, the key in `[defaults]` and in `[sites."…"]`, the end of `REDLOCK_DEFAULTS_TTL`, and the
//! parameter of the attribute. Optional parts follow the type:
//! * `from …` is the type that the setters take, if it differs.
//! * `default …` is the built-in value. A parameter without a default may have no value.
//! * `instead of …` names the parameter that answers the same question. A layer that sets one of the two clears the other
//!   in the layers below.
//! * `kind …` is for a parameter that decides the kind of the lock. It converts the value to the kind.
//!
//! To add a parameter, begin with a row here, and follow the steps of CONTRIBUTING.md. A new type needs an
//! `impl ConfigValue`, its name in the `prelude`, and its name in `lib.rs::__private`, where the expansion finds it. The
//! values of parameters are `Copy`, and a `static` can hold them. So a text needs a type of its own around a `&'static str`. The `Debug` of
//! this type hides the text, because a configuration may have a password there.
//!
//! `pools` has no row, because `[defaults]` has no pools: their default is a key of its own, `default_pools`.
//! `LockBuilder`, `SiteConfig` and `Site` have their pools in addition to the parameters of this table.

/// Passes all rows to a macro, with its arguments: `for_each_parameter!(const_setters!(SiteBuilder));`.
macro_rules! for_each_parameter {
    ($make:ident!($($of:tt)*)) => {
        $make! {
            ($($of)*)

            /// Sets the time after which the nodes free the lock on their own.
            /// Default: [`DEFAULT_TTL`](crate::parameters::DEFAULT_TTL).
            ttl: Duration, default super::DEFAULT_TTL;

            /// Sets the number of retries after the first attempt. Default:
            /// [`DEFAULT_RETRY_COUNT`](crate::parameters::DEFAULT_RETRY_COUNT). [`wait`](Self::wait) answers the same
            /// question, so the later of the two calls counts.
            retry_count: u32, default super::DEFAULT_RETRY_COUNT, instead of wait;

            /// Sets the time for which the call keeps trying, instead of a number of retries. The time is a hard bound, or
            /// [forever](crate::parameters::Wait::Forever). With a time, the call gives up earlier if no majority of the
            /// nodes answers two retries in a row.
            wait: Wait, from impl Into<Wait>, instead of retry_count;

            /// Sets the longest pause between attempts. Default:
            /// [`DEFAULT_RETRY_DELAY`](crate::parameters::DEFAULT_RETRY_DELAY). Each pause is a random time, from half of this
            /// to all of it. A pause ends early when the nodes report that the lock is free. A pause also ends after 2 s at
            /// the latest, because too few nodes may be left to report.
            retry_delay: Duration, default super::DEFAULT_RETRY_DELAY;

            /// Sets the factor of the allowance for clock drift, which is ttl × factor + 2 ms. Default:
            /// [`DEFAULT_CLOCK_DRIFT_FACTOR`](crate::parameters::DEFAULT_CLOCK_DRIFT_FACTOR).
            clock_drift_factor: f64, default super::DEFAULT_CLOCK_DRIFT_FACTOR;

            /// Sets the least validity of an acquired lock: a [`Duration`](std::time::Duration), or a part of the ttl such
            /// as `0.66`. Default: [`DEFAULT_MIN_VALIDITY`](crate::parameters::DEFAULT_MIN_VALIDITY). An acquisition that
            /// leaves less is given up and retried.
            ///
            /// ```
            /// use redlock_runtime::parameters::LockOptions;
            ///
            /// let options = LockOptions::new().min_validity(0.66);
            /// ```
            min_validity: MinValidity, from impl Into<MinValidity>,
                default MinValidity::Time(super::DEFAULT_MIN_VALIDITY);

            /// Sets the longest time for which renewals keep the lock: a [`Duration`](std::time::Duration), or
            /// [`MaxHold::Unlimited`](crate::parameters::MaxHold::Unlimited). Default: no renewal, so the ttl is final. Until
            /// this time has passed, the lease is renewed each time that a third of its validity has passed.
            max_hold: MaxHold, from impl Into<MaxHold>, default MaxHold::Ttl;

            /// Sets the period of a job. Default: every call runs. A call is refused, or skipped, while a majority of the
            /// nodes remembers a run that began less than nine tenths of the period ago. [`remember`](Self::remember)
            /// selects the runs that are remembered. The period is at least the ttl. Use this parameter
            /// for efficiency only, because a node may forget a run.
            once_per: Duration;

            /// Sets which runs count for [`once_per`](Self::once_per). Default: runs that ended well. The
            /// parameter is refused on a lock without a period.
            ///
            /// ```
            /// use std::time::Duration;
            /// use redlock_runtime::parameters::{Remember, LockOptions};
            ///
            /// let hourly = LockOptions::new().once_per(Duration::from_secs(3600));
            /// let options = hourly.remember(Remember::EveryRun);
            /// ```
            remember: Remember;

            /// Sets the number of holders that the lock has at a time: 1 to 256. Default: one holder, by the plain lock.
            /// Each holder has a permit of its own, with a [number](crate::LeaseHandle::permit). All locks on a resource
            /// need the same number of permits.
            permits: u32, kind |count: u32| Kind::Permits(count.try_into().unwrap_or(u16::MAX));

            /// Sets whether the lock comes with a fencing token. Default: no. [`LeaseHandle::fenced`](crate::LeaseHandle::fenced)
            /// returns the token. A configuration cannot turn fencing off for a function with the literal `fencing = true`.
            fencing: bool, default false;

            /// Sets the kind of the lock. Its holder reads, together with other readers, or writes, alone. Default: the plain
            /// lock, whose holder is alone and takes no part in the order of readers and writers. In that order, readers
            /// that come while a writer waits let the writer go first, and get in before the next writer. For permits, set
            /// [`permits`](Self::permits).
            ///
            /// ```
            /// use redlock_runtime::parameters::{Kind, LockOptions};
            ///
            /// let options = LockOptions::new().kind(Kind::Read);
            /// ```
            kind: Kind, kind |kind: Kind| kind;

            /// Sets what happens to a body whose lease ends first. Default: the body is cancelled.
            on_lost: OnLost, default OnLost::Cancel;
        }
    };
}

pub(crate) use for_each_parameter;
