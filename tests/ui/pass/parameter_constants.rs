//! Constants, where a literal is the usual value.
#![deny(warnings)]
#![allow(dead_code)]

use redlock_runtime::lease::FencingToken;
use redlock_runtime::parameters::Wait;
use redlock_runtime::{LockError, redlock};

const POOLS: [&str; 2] = ["a", "b"];
const FENCED: bool = true;
static NAME: &str = "of a static";

mod config {
    pub(crate) const POOLS: [&str; 1] = ["main"];
}

#[redlock(resource = "a", pools = POOLS, name = "constant name", fencing = FENCED)]
async fn array() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", pools = [concat!("pool-", "a"), config::POOLS[0], "b"], name = env!("CARGO_PKG_NAME"))]
async fn macros() -> Result<(), LockError> {
    Ok(())
}

struct Shop<T> {
    fenced: bool,
    of: T,
}

impl<T> Shop<T> {
    const NAME: &'static str = "associated";

    #[redlock(resource = "a", pools = POOLS, name = Shop::<u8>::NAME, fencing = self.fenced && FENCED)]
    async fn method(&self) -> Result<(), LockError> {
        Ok(())
    }
}

const PREFIX: &str = "order";

#[redlock(resource = "{PREFIX}:{id}")]
async fn prefixed(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

/// A constant that is named as what the expansion defines.
const SITE: [&str; 1] = ["a"];

#[redlock(resource = "a", pools = SITE)]
async fn named_as_the_expansions() -> Result<(), LockError> {
    Ok(())
}

macro_rules! locked {
    ($name:ident, $pools:expr, $wait:path, $fenced:expr) => {
        #[redlock(resource = "a", pools = $pools, wait = $wait, fencing = $fenced)]
        async fn $name() -> Result<(), LockError> {
            Ok(())
        }
    };
}

#[redlock(resource = "a", fencing = FENCED, guard = lease)]
async fn token_of_a_constant() -> Result<Option<FencingToken>, LockError> {
    Ok(lease.fenced().map(|lease| lease.fencing_token()))
}

locked!(by_macro, POOLS, Wait::Forever, FENCED);
locked!(by_macro_of_literals, ["a"], Wait::Forever, true);

fn main() {}
