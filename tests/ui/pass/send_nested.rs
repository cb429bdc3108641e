//! A call fifteen calls deep is `Send`: rustc follows the types of nested futures to a certain depth only.
#![deny(warnings)]

use redlock_runtime::{LockError, redlock};

async fn f0() -> Result<(), LockError> {
    std::future::ready(()).await;
    Ok(())
}

macro_rules! nested {
    ($($name:ident calls $inner:ident)*) => {
        $(
            #[redlock(resource = "nested")]
            async fn $name() -> Result<(), LockError> {
                $inner().await
            }
        )*
    };
}

nested! {
    f1 calls f0
    f2 calls f1
    f3 calls f2
    f4 calls f3
    f5 calls f4
    f6 calls f5
    f7 calls f6
    f8 calls f7
    f9 calls f8
    f10 calls f9
    f11 calls f10
    f12 calls f11
    f13 calls f12
    f14 calls f13
    f15 calls f14
}

fn is_send<T: Send>(_: T) {}

fn main() {
    is_send(f15());
}
