//! The annotated functions of the workers: the body is the holder's.

use redlock_runtime::{LeaseHandle, LockError, redlock};

use crate::holder::Holder;
use crate::plan::PERMITS;

/// Makes functions of a `holder` by their names and the parameters that others lack.
macro_rules! annotated {
    ($holder:ident: $($name:ident($($parameters:tt)+);)+) => {$(
        #[redlock(
            resource = &$holder.plan.locked,
            ttl = $holder.plan.ttl,
            retry_count = $holder.plan.retries,
            guard = lease,
            $($parameters)+
        )]
        pub(crate) async fn $name($holder: &Holder) -> Result<(), LockError> {
            // Those of fenced functions have another type.
            $holder.work(LeaseHandle::clone(lease)).await;
            Ok(())
        }
    )+};
}

annotated! {
    holder:
    fenced(fencing = true);
    renewed(fencing = true, max_hold = holder.plan.max_hold.unwrap_or(holder.plan.ttl));
    one_of_several(permits = PERMITS);
    reading(fencing = true, kind = "read");
    writing(fencing = true, kind = "write");
}
