//! The user's code sees no name of the macro's code, and the macro's code sees no name of the user's.
#![deny(warnings)]
#![allow(dead_code, unused_macros, clippy::items_after_statements, clippy::too_many_arguments)]

use redlock_runtime::{LockError, redlock};

static SITE: &str = "site";
const REGISTRATION: u8 = 1;

mod core {}
mod std {}
mod inventory {}
mod redlock_runtime_private {}

macro_rules! format_args {
    ($($any:tt)*) => {
        compile_error!("the user's own macro")
    };
}

struct Site;
struct Call;
struct Held;

#[redlock(resource = format!("{SITE}{REGISTRATION}"), guard = guard)]
async fn globals() -> Result<&'static str, LockError> {
    let _ = (Site, Call, Held, guard.resource());
    Ok(SITE)
}

#[redlock(resource = "{call}{held}{body}{outcome}{r}{value}{error}{lease}")]
async fn parameters(
    call: u8,
    held: u8,
    body: u8,
    outcome: u8,
    r: u8,
    value: u8,
    error: u8,
    lease: u8,
) -> Result<u8, LockError> {
    Ok(call + held + body + outcome + r + value + error + lease)
}

#[redlock(resource = call)]
async fn shadowing(call: &'static str) -> Result<u8, LockError> {
    let held = 1;
    struct Result;
    let _ = Result;
    Ok(held)
}

mod without_prelude {
    #![no_implicit_prelude]

    #[::redlock_runtime::redlock(resource = "{id}", ttl = 50, pools = ["a"], guard = lease)]
    pub(super) async fn f(id: u64) -> ::core::result::Result<u64, ::redlock_runtime::LockError> {
        let _ = lease.resource();
        ::core::result::Result::Ok(id)
    }
}

mod shadowed_prelude {
    type Result<T> = ::core::result::Result<T, ::redlock_runtime::LockError>;
    struct Option;
    struct Box;
    #[allow(non_camel_case_types)]
    type u64 = ::core::primitive::u64;
    #[allow(non_camel_case_types)]
    struct u32;
    #[allow(non_camel_case_types)]
    struct str;

    #[::redlock_runtime::redlock(resource = "{id}", retry_count = 2, ttl = 50)]
    pub(super) async fn f(id: u64) -> Result<u64> {
        let _ = (Option, Box, u32, str);
        Ok(id)
    }
}

fn inside_a_function() {
    #[redlock(resource = "inner")]
    async fn inner() -> Result<(), LockError> {
        Ok(())
    }
    #[redlock(resource = "inner")]
    async fn second() -> Result<(), LockError> {
        Ok(())
    }
    drop((inner(), second()));
}

fn main() {}
