//! Every parameter of a lock, once.
//!
//! A row is the documentation of the setters and of the reports, the name, and the type. The name is
//! the same everywhere: `ttl` is the setter, the key in `[defaults]` and in `[sites."…"]`, the end of
//! `REDLOCK_DEFAULTS_TTL`, and the parameter of the attribute. After the type comes what a row needs
//! of these:
//! * `from …` is what the setters take, if that is not the type itself.
//! * `default …` is the built-in value, a constant of `redlock_core::request`. A parameter without a default may have
//!   no value.
//! * `instead of …` is the parameter that answers the same question. A layer that sets one of the
//!   two clears the other of the layers below.
//! * `kind …` is for a parameter that says the kind of the lock: it makes the kind of the value.
//!
//! To add a parameter, begin with a row here: CONTRIBUTING.md has the other steps. A type that no other parameter
//! has needs its `impl ConfigValue`, its name in the `prelude`, and its name in `lib.rs::__private`, where the
//! expansion finds it. A value is `Copy`, and a `static` can hold it. So a text is a type of its own around a
//! `&'static str`, whose `Debug` hides the text, because a configuration may have a password there.
//!
//! `pools` is no row, because it is no value: the default of a lock's pools is a key of its own,
//! `default_pools`, and `[defaults]` has none. `LockBuilder`, `SiteConfig` and `Site` have it beside the
//! parameters of this table.

/// `for_each_parameter!(const_setters!(SiteBuilder));` hands all rows to the macro `const_setters`.
macro_rules! for_each_parameter {
    ($make:ident!($($of:tt)*)) => {
        $make! {
            ($($of)*)

            /// The auto-release time: the nodes free the lock by themselves when it has passed.
            /// Default: [`DEFAULT_TTL`](crate::parameters::DEFAULT_TTL).
            ///
            /// ```
            /// use std::time::Duration;
            /// use redlock_runtime::parameters::LockOptions;
            ///
            /// let options = LockOptions::new().ttl(Duration::from_secs(30));
            /// ```
            ttl: Duration, default super::DEFAULT_TTL;

            /// The number of retries after the first attempt. Default:
            /// [`DEFAULT_RETRY_COUNT`](crate::parameters::DEFAULT_RETRY_COUNT). This and [`wait`](Self::wait) answer the
            /// same question: the last setter counts.
            ///
            /// ```
            /// use redlock_runtime::parameters::LockOptions;
            ///
            /// let options = LockOptions::new().retry_count(5);
            /// ```
            retry_count: u32, default super::DEFAULT_RETRY_COUNT, instead of wait;

            /// The time for which the call keeps trying, a hard bound, or [forever](crate::parameters::Wait::Forever), in the
            /// place of a number of retries. With a time, the call gives up earlier if no majority of the nodes answers two
            /// retries in a row.
            ///
            /// ```
            /// use std::time::Duration;
            /// use redlock_runtime::parameters::LockOptions;
            ///
            /// let options = LockOptions::new().wait(Duration::from_secs(5));
            /// ```
            wait: Wait, from impl Into<Wait>, instead of retry_count;

            /// Between attempts passes a random time between half of this and this. Default:
            /// [`DEFAULT_RETRY_DELAY`](crate::parameters::DEFAULT_RETRY_DELAY). It ends early when the nodes tell that the
            /// lock is free, and after 2 s because too few nodes may be there to tell.
            ///
            /// ```
            /// use std::time::Duration;
            /// use redlock_runtime::parameters::LockOptions;
            ///
            /// let options = LockOptions::new().retry_delay(Duration::from_millis(50));
            /// ```
            retry_delay: Duration, default super::DEFAULT_RETRY_DELAY;

            /// The drift allowed for is ttl × this + 2 ms. Default:
            /// [`DEFAULT_CLOCK_DRIFT_FACTOR`](crate::parameters::DEFAULT_CLOCK_DRIFT_FACTOR).
            ///
            /// ```
            /// use redlock_runtime::parameters::LockOptions;
            ///
            /// let options = LockOptions::new().clock_drift_factor(0.02);
            /// ```
            clock_drift_factor: f64, default super::DEFAULT_CLOCK_DRIFT_FACTOR;

            /// An acquisition that leaves less validity is given up and retried: a
            /// [`Duration`](std::time::Duration), or a part of the ttl such as `0.66`. Default:
            /// [`DEFAULT_MIN_VALIDITY`](crate::parameters::DEFAULT_MIN_VALIDITY).
            ///
            /// ```
            /// use redlock_runtime::parameters::LockOptions;
            ///
            /// let options = LockOptions::new().min_validity(0.66);
            /// ```
            min_validity: MinValidity, from impl Into<MinValidity>,
                default MinValidity::Time(super::DEFAULT_MIN_VALIDITY);

            /// Until the lock has been held so long, the lease is renewed by itself, each time that a
            /// third of its validity has passed: a [`Duration`](std::time::Duration), or
            /// [`MaxHold::Unlimited`](crate::parameters::MaxHold::Unlimited). Default: it is not renewed, and the
            /// ttl is final.
            ///
            /// ```
            /// use std::time::Duration;
            /// use redlock_runtime::parameters::LockOptions;
            ///
            /// let options = LockOptions::new().max_hold(Duration::from_secs(3600));
            /// ```
            max_hold: MaxHold, from impl Into<MaxHold>, default MaxHold::Ttl;

            /// The period of a job: a call is refused, or skipped, while a majority of the nodes
            /// remembers a run that began less than nine tenths of this ago. [`remember`](Self::remember) says
            /// which runs are remembered. For efficiency only: a node may forget. Not below the ttl.
            /// Default: every call runs.
            ///
            /// ```
            /// use std::time::Duration;
            /// use redlock_runtime::parameters::LockOptions;
            ///
            /// let options = LockOptions::new().once_per(Duration::from_secs(3600));
            /// ```
            once_per: Duration;

            /// The runs that count for [`once_per`](Self::once_per), without which this is refused. Default:
            /// those that ended well.
            ///
            /// ```
            /// use std::time::Duration;
            /// use redlock_runtime::parameters::{Remember, LockOptions};
            ///
            /// let hourly = LockOptions::new().once_per(Duration::from_secs(3600));
            /// let options = hourly.remember(Remember::EveryRun);
            /// ```
            remember: Remember;

            /// The number of holders that the lock has at a time: 1 to 256. Each has a permit of its own, with a
            /// [number](crate::LeaseHandle::permit). Give a resource the same number everywhere. Default: one
            /// holder, and the plain lock.
            ///
            /// ```
            /// use redlock_runtime::parameters::LockOptions;
            ///
            /// let options = LockOptions::new().permits(4);
            /// ```
            permits: u32, kind |count: u32| Kind::Permits(count.try_into().unwrap_or(u16::MAX));

            /// True if a fencing token comes with the lock, which [`LeaseHandle::fenced`](crate::LeaseHandle::fenced)
            /// has. A configuration cannot take it from a function with the literal `fencing = true`. Default: no.
            ///
            /// ```
            /// use redlock_runtime::parameters::LockOptions;
            ///
            /// let options = LockOptions::new().fencing(true);
            /// ```
            fencing: bool, default false;

            /// The kind of the lock: its holder reads, next to other readers, or writes, alone. Readers that come while a
            /// writer waits let it go first, and go in before the next writer. Default: the plain lock, whose holder is
            /// alone and takes no part in that order. For permits, set [`permits`](Self::permits).
            ///
            /// ```
            /// use redlock_runtime::parameters::{Kind, LockOptions};
            ///
            /// let options = LockOptions::new().kind(Kind::Read);
            /// ```
            kind: Kind, kind |kind: Kind| kind;

            /// The end of the body when its lease ends before it. Default: it is cancelled.
            ///
            /// ```
            /// use redlock_runtime::parameters::{LockOptions, OnLost};
            ///
            /// let options = LockOptions::new().on_lost(OnLost::Continue);
            /// ```
            on_lost: OnLost, default OnLost::Cancel;
        }
    };
}

pub(crate) use for_each_parameter;
