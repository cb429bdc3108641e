//! Log lines, at most one a second and cause.

use redlock_core::Environment;
use redlock_core::env::{About, Cause, Throttles};
use tracing::Level;

use crate::site::Site;

/// The throttles of one registry's log lines. What ends one lease or refuses one call, as a fault of a node
/// does, usually concerns all at once.
pub(crate) fn throttles(environment: &Environment) -> Throttles {
    Throttles::new(environment, tell_held_back)
}

/// What log lines about the calls of one function have in common.
pub(crate) fn about(site: &'static Site) -> About {
    About::site(site.site_name())
}

fn tell_held_back(cause: &Cause, held_back: u64) {
    macro_rules! tell {
        ($level:ident) => {
            log!(
                $level,
                held_back,
                of = cause.text,
                site = cause.about.site,
                pools = cause.about.pools,
                reason = cause.about.reason,
                "more of the same was held back",
            )
        };
    }
    match cause.level {
        Level::ERROR => tell!(error),
        Level::WARN => tell!(warn),
        _ => tell!(info),
    }
}
