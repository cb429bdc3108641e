//! A `let` does not bind the name of a constant or of a unit struct. So no name of the user's code may
//! be a name that the attribute binds.
#![deny(warnings)]
#![allow(dead_code, non_upper_case_globals, non_camel_case_types)]

use std::time::Duration;

use redlock_runtime::{LockError, redlock};

mod constants {
    use super::{Duration, LockError, redlock};

    const call: u8 = 1;
    const held: u8 = 2;
    const lease: u8 = 3;
    const body: u8 = 4;
    const outcome: u8 = 5;
    const value: u8 = 6;
    const error: u8 = 7;
    const ret: u8 = 8;
    const r: u8 = 9;
    static arg0: u8 = 10;

    #[redlock(resource = "{pair.0}:{call}", ttl = Duration::from_secs(1), guard = own)]
    pub(super) async fn f(pair: (u8, u8)) -> Result<u8, LockError> {
        let _ = own.resource();
        Ok(pair.1 + call + held + lease + body + outcome + value + error + ret + r + arg0)
    }
}

mod unit_structs {
    use super::{Duration, LockError, redlock};

    struct call;
    struct held;
    struct lease;
    struct body;
    struct outcome;
    struct value;
    struct error;
    struct ret;
    struct r;
    struct arg0;

    #[redlock(resource = ["{pair.0}", "b"], retry_count = 1 + 1, ttl = Duration::from_secs(1), guard = own)]
    pub(super) async fn f(pair: (u8, u8)) -> Result<u8, LockError> {
        let _ = (call, held, lease, body, outcome, value, error, ret, r, arg0);
        let _ = own.resource();
        Ok(pair.1)
    }
}

mod const_generics {
    use super::{LockError, redlock};

    #[redlock(resource = "{call}:{held}", guard = own)]
    pub(super) async fn f<const call: usize, const held: usize, const r: bool>() -> Result<usize, LockError> {
        let _ = own.resource();
        Ok(if r { call } else { held })
    }
}

fn main() {
    drop((constants::f((1, 2)), unit_structs::f((1, 2)), const_generics::f::<1, 2, true>()));
}
