//! The request of a caller, checked before anything is sent.

use std::time::Duration;

use crate::model::brief::Brief;
use crate::model::invalid::Invalid;

use super::kind::{Kind, MAX_PERMITS};
use super::note::Note;
use super::resource::Resource;

/// The shortest ttl of a lock: a shorter one would be used up by the round trip and the drift.
pub const MIN_TTL: Duration = Duration::from_millis(10);

/// The longest ttl: the limit of what a node can count. A client's own limit may be lower.
pub const MAX_TTL: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The default number of retries.
pub(crate) const RETRIES: u32 = 2;

/// One acquisition, with all values decided.
#[derive(Clone, Debug)]
pub struct Request {
    /// What to lock; the client's key prefix comes before each name.
    pub resource: Resource,
    /// The auto-release time.
    pub ttl: Duration,
    /// What to do after an attempt that failed.
    pub retry: Retry,
    /// The number of retries, beyond those of `retry`, for attempts that no client won: if callers
    /// come at the same moment, each may get some of the votes, and no caller the lock.
    pub split_retries: u32,
    /// The drift allowed for is ttl × this + 2 ms.
    pub clock_drift_factor: f64,
    /// An acquisition that leaves a shorter validity is given up and retried.
    pub min_validity: Duration,
    /// The time for which the lease renews itself.
    pub renewal: Renewal,
    /// True if the lock comes with a fencing token.
    pub fencing: bool,
    /// The period of a job. If a majority of the nodes remembers a run of this period, the lock is not
    /// acquired. See [`Lease::remember_run`](crate::Lease::remember_run).
    pub once_per: Option<Duration>,
    /// What people are told of the holder. It decides nothing, except that the lock is not handed over
    /// as it is to a caller with another note.
    pub note: Option<Note>,
    /// Whom the lock excludes, and how many holders it has at a time.
    pub kind: Kind,
}

/// The time for which a lease renews itself. A renewal is sent each time that a third of the validity
/// has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Renewal {
    /// The ttl is final.
    #[default]
    Never,
    /// Until the lock has been held for this time, counted from the attempt that won.
    For(Duration),
    /// While its holder keeps it.
    Unlimited,
}

impl From<Duration> for Renewal {
    fn from(held: Duration) -> Self {
        Self::For(held)
    }
}

/// The limit of retries, and the pause between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// When to give up.
    pub limit: RetryLimit,
    /// The pause between attempts is random: between half of this and this.
    pub delay: Duration,
}

/// When to give up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryLimit {
    /// After this number of retries behind the first attempt.
    Count(u32),
    /// When this time has passed since the first attempt began. A hard bound. The time is for a holder: the
    /// caller gives up earlier if no majority of the nodes answers the default number of retries in a row.
    Wait(Duration),
    /// Never, also if no majority of the nodes answers.
    Forever,
}

impl Request {
    /// A request with the protocol's defaults: a ttl of 60 s, two retries about 200 ms apart, a
    /// drift factor of 0.01.
    pub fn new(resource: impl Into<Resource>) -> Self {
        Self {
            resource: resource.into(),
            ttl: Duration::from_secs(60),
            retry: Retry {
                limit: RetryLimit::Count(RETRIES),
                delay: Duration::from_millis(200),
            },
            split_retries: 0,
            clock_drift_factor: 0.01,
            min_validity: Duration::ZERO,
            renewal: Renewal::Never,
            fencing: false,
            once_per: None,
            note: None,
            kind: Kind::Exclusive,
        }
    }

    /// The same request for a lock of another kind.
    #[must_use]
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// The same request with another ttl.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// The same request with this number of retries.
    #[must_use]
    pub fn retries(mut self, count: u32) -> Self {
        self.retry.limit = RetryLimit::Count(count);
        self
    }

    /// Checks every value against the limits of the protocol.
    ///
    /// # Errors
    /// [`Invalid`], with each wrong value, its limit and what to do.
    pub fn check(&self) -> Result<(), Invalid> {
        Invalid::of_all([
            self.resource.check(),
            self.check_times(),
            self.check_permits(),
            self.check_mode(),
        ])
    }

    fn check_times(&self) -> Result<(), Invalid> {
        check_drift_factor(self.clock_drift_factor)?;
        check_ttl(self.ttl, self.clock_drift_factor)?;
        if self.retry.limit == RetryLimit::Wait(Duration::ZERO) {
            return Err(Invalid::new(
                "a wait of zero leaves no time to ask the nodes; to try just once, set the number \
                 of retries to 0",
            ));
        }
        let validity = self
            .ttl
            .saturating_sub(drift(self.ttl, self.clock_drift_factor));
        if self.min_validity >= validity {
            return Err(Invalid::new(format!(
                "`min_validity` of {} is not below the ttl less its drift, {}; no acquisition could \
                 ever succeed",
                Brief(self.min_validity),
                Brief(validity),
            )));
        }
        if let Renewal::For(held) = self.renewal
            && held < self.ttl
        {
            return Err(Invalid::new(format!(
                "`max_hold` of {} is below the ttl of {}, which the lock is held for anyway; lower \
                 the ttl, or leave `max_hold` out",
                Brief(held),
                Brief(self.ttl),
            )));
        }
        if let Some(period) = self.once_per {
            check_period(period, self.ttl)?;
        }
        Ok(())
    }

    /// Checks the number of permits, and what permits cannot have.
    fn check_permits(&self) -> Result<(), Invalid> {
        let Some(count) = self.kind.permits() else {
            return Ok(());
        };
        if count == 0 {
            return Err(Invalid::new(
                "`permits` of 0 lets nobody in; give it a number from 1 on",
            ));
        }
        if count > MAX_PERMITS {
            return Err(Invalid::new(format!(
                "`permits` of {count} is more than {MAX_PERMITS}; a server looks at all \
                 permits at once, so spread more holders over several resources",
            )));
        }
        if self.resource.names().len() > 1 {
            return Err(Invalid::new(format!(
                "`permits` with several resources, `{}`: all or none of several sets of permits cannot \
                 be taken at once; lock one of them, or leave `permits` out",
                self.resource,
            )));
        }
        if self.fencing {
            return Err(Invalid::new(
                "`fencing` with `permits`: a store that compares tokens needs one holder at a time; leave \
                 `permits` out, write `fencing = false`, or lock one resource for each slot",
            ));
        }
        if self.once_per.is_some() {
            return Err(Invalid::new(
                "`once_per` with `permits`: several holders at a time would each run the job; leave one \
                 of the two out",
            ));
        }
        Ok(())
    }

    /// Checks what a lock of readers and writers cannot have.
    fn check_mode(&self) -> Result<(), Invalid> {
        if !self.kind.is_shared() {
            return Ok(());
        }
        if self.resource.names().len() > 1 {
            return Err(Invalid::new(format!(
                "the resource `{}` has several names, and readers and writers share one name only; \
                 lock the names without a `mode`, or what they have in common",
                self.resource,
            )));
        }
        if self.kind == Kind::Read && self.once_per.is_some() {
            return Err(Invalid::new(
                "`once_per` is for a job, and readers run side by side; leave `once_per` out, or \
                 write (`mode = \"write\"`)",
            ));
        }
        Ok(())
    }
}

/// The drift allowance of a ttl: the clocks of client and node may differ by `factor`, and Redis
/// expires keys to the millisecond (2 ms, by the Redis page on distributed locks).
pub(crate) fn drift(ttl: Duration, factor: f64) -> Duration {
    ttl.mul_f64(factor) + Duration::from_millis(2)
}

/// Checks a drift factor.
///
/// # Errors
/// [`Invalid`] unless it is a number of at least 0 and below 1.
pub fn check_drift_factor(factor: f64) -> Result<(), Invalid> {
    if (0.0..1.0).contains(&factor) {
        return Ok(());
    }
    Err(Invalid::new(format!(
        "`clock_drift_factor` of {factor} is not a number from 0 up to 1; the usual one is 0.01"
    )))
}

/// Checks a ttl, with a drift factor that is valid.
///
/// # Errors
/// [`Invalid`] below [`MIN_TTL`], at or below the drift, above [`MAX_TTL`], or with a fraction of a
/// millisecond, which a node cannot count.
pub fn check_ttl(ttl: Duration, factor: f64) -> Result<(), Invalid> {
    if ttl < MIN_TTL {
        return Err(Invalid::new(format!(
            "the ttl of {} is below the {} that a lock needs at least",
            Brief(ttl),
            Brief(MIN_TTL),
        )));
    }
    if ttl > MAX_TTL {
        return Err(Invalid::new(
            "the ttl is above a year; a lock that long is no lease",
        ));
    }
    if !ttl.subsec_nanos().is_multiple_of(1_000_000) {
        return Err(Invalid::new(format!(
            "the ttl of {ttl:?} is not a whole number of milliseconds"
        )));
    }
    if ttl <= drift(ttl, factor) {
        return Err(Invalid::new(format!(
            "the ttl of {} is not above its clock drift of {}; lower `clock_drift_factor` or raise \
             the ttl",
            Brief(ttl),
            Brief(drift(ttl, factor)),
        )));
    }
    Ok(())
}

/// Checks the period of a job whose lock has a valid ttl.
///
/// # Errors
/// [`Invalid`] below the ttl: the lock of a holder that was killed would stay for longer than a period.
/// And above [`MAX_TTL`], as a node counts the period too.
pub fn check_period(period: Duration, ttl: Duration) -> Result<(), Invalid> {
    if period < ttl {
        return Err(Invalid::new(format!(
            "`once_per` of {} is below the ttl of {}, for which the lock of a killed process stays; \
             lower the ttl, or raise `once_per`",
            Brief(period),
            Brief(ttl),
        )));
    }
    if period > MAX_TTL {
        return Err(Invalid::new(
            "`once_per` is above a year; no node remembers a run for that long",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(change: impl FnOnce(&mut Request)) -> String {
        let mut request = Request::new("r");
        change(&mut request);
        request.check().unwrap_err().to_string()
    }

    #[test]
    fn bad_values_are_refused_by_name() {
        assert!(refusal(|r| r.ttl = Duration::ZERO).contains("10 ms"));
        assert!(refusal(|r| r.ttl = Duration::from_millis(1)).contains("10 ms"));
        assert!(refusal(|r| r.ttl = Duration::MAX).contains("year"));
        assert!(refusal(|r| r.ttl = Duration::from_micros(10_500)).contains("whole number"));
        assert!(refusal(|r| r.clock_drift_factor = 0.999_99).contains("drift"));
        for factor in [f64::NAN, f64::INFINITY, -0.1, 1.0] {
            assert!(refusal(|r| r.clock_drift_factor = factor).contains("clock_drift_factor"));
        }
        assert!(refusal(|r| r.min_validity = Duration::from_secs(60)).contains("min_validity"));
        let short = Renewal::For(Duration::from_secs(59));
        assert!(refusal(|r| r.renewal = short).contains("max_hold"));
        assert!(refusal(|r| r.once_per = Some(Duration::ZERO)).contains("once_per"));
        assert!(refusal(|r| r.once_per = Some(Duration::from_secs(59))).contains("below the ttl"));
        assert!(refusal(|r| r.once_per = Some(Duration::MAX)).contains("year"));
        let no_wait = RetryLimit::Wait(Duration::ZERO);
        assert!(refusal(|r| r.retry.limit = no_wait).contains("wait of zero"));
        assert!(refusal(|r| r.resource = "".into()).contains("empty"));
        let four = Kind::Permits(4);
        assert!(refusal(|r| r.kind = Kind::Permits(257)).contains("more than 256"));
        let both = Request::new(Vec::<String>::new()).kind(Kind::Permits(0));
        let both = both.check().unwrap_err().to_string();
        assert!(
            both.contains("empty list") && both.contains("`permits` of 0"),
            "{both}"
        );
        assert!(Request::new("r").kind(Kind::Permits(256)).check().is_ok());
        assert!(refusal(|r| (r.kind, r.fencing) = (four, true)).contains("`fencing` with"));
        let several = refusal(|r| (r.kind, r.resource) = (four, ["a", "b"].into()));
        assert!(several.contains("several resources"), "{several}");
        let period = Some(Duration::from_secs(60));
        assert!(refusal(|r| (r.kind, r.once_per) = (four, period)).contains("`once_per` with"));
        for kind in [Kind::Read, Kind::Write] {
            let several = Request::new(["a", "b"]).kind(kind).check().unwrap_err();
            assert!(several.to_string().contains("several names"), "{several}");
            assert!(Request::new("r").kind(kind).check().is_ok());
        }
        let mut job = Request::new("r").kind(Kind::Read);
        job.once_per = Some(Duration::from_secs(3600));
        assert!(job.check().unwrap_err().to_string().contains("once_per"));
        assert!(Request::new("r").check().is_ok());
        for secs in [60, MAX_TTL.as_secs()] {
            assert!(check_period(Duration::from_secs(secs), Duration::from_secs(60)).is_ok());
        }
    }

    #[test]
    fn drift_is_a_hundredth_of_the_ttl_and_2_ms() {
        assert_eq!(
            drift(Duration::from_secs(60), 0.01),
            Duration::from_millis(602)
        );
    }
}
