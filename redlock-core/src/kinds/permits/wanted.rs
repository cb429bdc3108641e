//! What a request for a permit may say.

use std::fmt;
use std::sync::Arc;

use crate::kinds::exclusive::Exclusive;
use crate::kinds::fenced::Fenced;
use crate::kinds::{Asking, Checked, Kind, Wants};
use crate::model::invalid::Invalid;
use crate::quorum::kind::Kind as Asked;

use super::AnyPermit;

/// The most permits of a resource. A server looks at all of them in one script, and serves no other client
/// meanwhile.
pub const MAX_PERMITS: u16 = 256;

/// One of this number of permits.
pub(crate) struct Permits(pub(crate) u16);

impl Wants for Permits {
    fn asked(&self, asking: Asking<'_>) -> Arc<dyn Asked> {
        match self.0 {
            1 if asking.is_fenced => {
                Arc::new(Fenced::new(asking.keys.clone(), asking.prefix).only())
            }
            1 => Arc::new(Exclusive::only(asking.keys.clone())),
            count => Arc::new(AnyPermit::new(asking.keys, count, asking.prefix)),
        }
    }

    fn label(&self) -> &'static str {
        "permits"
    }

    fn check(&self, request: &Checked<'_>) -> Result<(), Invalid> {
        let Self(count) = self;
        if *count == 1 {
            return Ok(());
        }
        if *count == 0 {
            return Err(Invalid::new(
                "`permits` of 0 lets nobody in; give it a number from 1 on",
            ));
        }
        if *count > MAX_PERMITS {
            return Err(Invalid::new(format!(
                "`permits` of {count} is more than {MAX_PERMITS}; a server looks at all \
                 permits at once, so spread more holders over several resources",
            )));
        }
        if request.resource.names().len() > 1 {
            return Err(Invalid::new(format!(
                "`permits` with several resources, `{}`: all or none of several sets of permits cannot \
                 be taken at once; lock one of them, or leave `permits` out",
                request.resource,
            )));
        }
        if request.fencing {
            return Err(Invalid::new(
                "`fencing` with `permits`: a store that compares tokens needs one holder at a time; leave \
                 `permits` out, write `fencing = false`, or lock one resource for each slot",
            ));
        }
        if request.once_per {
            return Err(Invalid::new(
                "`once_per` with `permits`: several holders at a time would each run the job; leave one \
                 of the two out",
            ));
        }
        Ok(())
    }

    fn on_nodes(&self) -> Option<Kind> {
        (self.0 == 1).then_some(Kind::Exclusive)
    }
}

impl fmt::Display for Permits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of {} permits", self.0)
    }
}
