//! Redlock as this library has it, on three nodes.

use redlock_runtime::lock;
use redlock_runtime::parameters::LockOptions;

use crate::call::{self, Call, Ended, Stop};

pub(crate) async fn run(call: &mut Call, is_fenced: bool) -> Result<Ended, Stop> {
    let lock = lock(call.key())
        .ttl(call.ttl())
        .retry_count(0)
        .options(LockOptions::new().fencing(is_fenced));
    let body = async {
        let fenced = redlock_runtime::current_lease().and_then(|lease| lease.fenced());
        call::body(fenced.map(|lease| lease.fencing_token().as_u64()), 0).await
    };
    let outcome = lock.run(body).await;
    match outcome {
        Ok(of_body) => of_body.map(|()| Ended::Done),
        Err(error) if error.is_contended() => Ok(Ended::Refused),
        Err(error) if error.is_lost() => Err(Stop::Lost(error.to_string())),
        Err(error) => Err(Stop::Down(error.to_string())),
    }
}
