//! Redlock as this library has it, on three nodes.

use redlock_runtime::lease::FencingToken;
use redlock_runtime::lock;

use crate::call::{self, Call, Ended, Stop};

pub(crate) async fn run(call: &mut Call, is_fenced: bool) -> Result<Ended, Stop> {
    let lock = lock(call.key())
        .ttl(call.ttl())
        .retry_count(0)
        .fencing(is_fenced);
    let body = async {
        let token = redlock_runtime::current().and_then(|lease| lease.fencing_token());
        call::body(token.map(FencingToken::as_u64), 0).await
    };
    let outcome = lock.run(body).await;
    match outcome {
        Ok(of_body) => of_body.map(|()| Ended::Done),
        Err(error) if error.is_contended() => Ok(Ended::Refused),
        Err(error) if error.is_lost() => Err(Stop::Lost(error.to_string())),
        Err(error) => Err(Stop::Down(error.to_string())),
    }
}
