//! Modules, types, values and macros with the names of everything that the expansion uses.
#![deny(warnings)]
#![allow(dead_code, unused_macros, clippy::upper_case_acronyms, clippy::wildcard_imports)]

macro_rules! refuse {
    ($($name:ident)*) => {
        $(macro_rules! $name {
            ($any:tt) => {
                compile_error!("the user's own macro")
            };
        })*
    };
}

mod hostile {
    refuse! { module_path file line column format format_args concat pin submit unreachable panic }

    pub mod core {}
    pub mod std {}
    pub mod alloc {}
    pub mod inventory {}
    pub mod tokio {}
    pub mod redlock_runtime {}
    pub mod __private {}

    pub struct Result;
    pub struct Option;
    pub struct Ok;
    pub struct Err;
    pub struct Some;
    pub struct None;
    pub struct LockSpec;
    pub struct CallState;
    pub struct LeaseSlot;
    pub struct Lease;
    pub struct Fenced;
    pub struct LockError;
    pub struct Resource;
    pub struct Registration;
    pub struct Site;
    pub struct SITE;
    pub struct Duration;
    pub struct Future;
    pub struct Pin;
    pub struct Box;
    pub struct String;
    pub struct Vec;
    pub trait From {}
    pub trait Into {}
    pub trait Drop {}
    pub trait Send {}
    pub trait Sized {}
    pub trait IntoFuture {}
    pub trait FromLockError {}
    pub fn drop() {}
    pub fn resource() {}

    #[::redlock_runtime::redlock(
        resource = ["a:{id}", "b:{pair.0}"],
        ttl = "5s",
        pools = ["a"],
        retry_count = 1 + 1,
        retry_delay = 50,
        clock_drift_factor = 0.01,
        min_validity = 0.5,
        max_hold = "unlimited",
        fencing = true,
        on_lost = "cancel",
        guard = lease,
        name = "hostile",
    )]
    async fn f(id: u8, pair: (u8, u8)) -> ::core::result::Result<u8, ::redlock_runtime::LockError> {
        let _ = (Result, Option, Ok, Err, Some, None, LockSpec, LeaseSlot, Lease, Fenced, LockError, Resource);
        let _ = (Registration, Site, SITE, Duration, Future, Pin, Box, String, Vec, lease);
        ::core::result::Result::Ok(id + pair.1)
    }
}

/// Unit structs and constants with the names that a macro would give to its variables.
#[allow(non_camel_case_types, non_upper_case_globals)]
mod variables {
    struct __spec;
    struct __slot;
    struct __body;
    struct __ret;
    struct __value;
    struct __SITE;
    struct __choice;
    struct spec;
    struct never;
    const site: u8 = 1;

    #[::redlock_runtime::redlock(resource = "a:{id}", note = id, ttl = "5s", guard = lease)]
    async fn f(id: u8) -> Result<u8, ::redlock_runtime::LockError> {
        let _ = (__spec, __slot, __body, __ret, __value, __SITE, __choice, spec, never, lease);
        Ok(id + site)
    }
}

/// The same names by a glob.
mod globbed {
    use super::hostile::*;

    #[::redlock_runtime::redlock(resource = "a:{id}", ttl = "5s", guard = lease)]
    async fn f(id: u8) -> ::core::result::Result<u8, ::redlock_runtime::LockError> {
        let _ = (Result, Some, LeaseSlot, lease);
        ::core::result::Result::Ok(id)
    }
}

fn main() {}
