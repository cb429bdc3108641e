//! Generated code draws no lint, however many are on.
#![deny(
    warnings,
    unused,
    future_incompatible,
    let_underscore,
    nonstandard_style,
    rust_2018_idioms,
    rust_2021_compatibility,
    rust_2024_compatibility,
    missing_docs,
    missing_debug_implementations,
    single_use_lifetimes,
    trivial_casts,
    trivial_numeric_casts,
    unreachable_pub,
    unused_extern_crates,
    unused_import_braces,
    unused_lifetimes,
    unused_qualifications,
    unused_results,
    variant_size_differences,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    clippy::unwrap_used,
    clippy::missing_errors_doc,
    clippy::type_complexity
)]
#![forbid(unsafe_code)]

use redlock_runtime::{LockError, redlock};

type Pair = (u64, u64);

#[redlock(resource = "{id}", ttl = 60_000, pools = ["a", "b"], guard = lease)]
async fn locked(id: u64) -> Result<Pair, LockError> {
    let n = lease.validity().as_secs();
    std::future::ready(()).await;
    Ok((id, n))
}

#[redlock(resource = "{pair.0}", ttl = std::time::Duration::from_secs(1))]
async fn one_line(pair: Pair) -> Result<u64, LockError> { Ok(std::future::ready(pair.1).await) }

#[redlock(resource = "unit")]
async fn unit() -> Result<(), LockError> {
    std::future::ready(Ok(())).await
}

#[redlock(resource = "returns")]
async fn returns(n: u64) -> Result<u64, LockError> {
    if n > 5 {
        return Ok(std::future::ready(n).await);
    }
    unit().await?;
    todo!()
}

#[redlock(resource = "nothing")]
async fn nothing() -> Result<(), LockError> {
    return std::future::ready(Ok(())).await;
}

fn main() {
    drop((locked(1), one_line((1, 2)), unit(), returns(3), nothing()));
}
