//! The attribute by any path, with any brackets, commas and parentheses.
#![deny(warnings)]
#![allow(dead_code, clippy::needless_raw_string_hashes)]

use redlock_runtime::{LockError, redlock, redlock as lock};

#[::redlock_runtime::redlock(resource = "a")]
async fn by_its_whole_path() -> Result<(), LockError> {
    Ok(())
}

#[lock(resource = "a",)]
async fn by_another_name() -> Result<(), LockError> {
    Ok(())
}

#[redlock[resource = "a", pools = ["a", "b",],]]
async fn brackets() -> Result<(), LockError> {
    Ok(())
}

#[redlock {
    // With comments,
    resource = "a", /* anywhere */
    ttl = ("1m"),
}]
async fn braces() -> Result<(), LockError> {
    Ok(())
}

#[redlock(crate = ::redlock_runtime, name = ("any order"), guard = (lease), fencing = (true), ttl = (((50))), pools = (["a", ("b")]), resource = ("a:{id}"))]
async fn parentheses(id: u64) -> Result<u64, LockError> {
    let _ = lease.fencing_token().as_i64();
    Ok(id)
}

#[redlock(resource = "a", ttl = 0x00_ff_u64, retry_count = 0b11, retry_delay = 1_0_0i32, clock_drift_factor = 1e-3, min_validity = 0.5f64, max_hold = 6_00_00)]
async fn spellings_of_numbers() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = r##"a "quoted" # {id}"##, name = r"raw", on_lost = "\x63ancel", ttl = "1 m 30\u{20}s")]
async fn spellings_of_strings(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = key::<u8, u16>(), retry_count = 0)]
async fn commas_in_generics() -> Result<(), LockError> {
    Ok(())
}

fn key<A, B>() -> String {
    std::any::type_name::<(A, B)>().to_owned()
}

#[redlock(resource = ["a"], kind = "write", once_per = "1h")]
async fn one_name_in_brackets() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = ["a"], permits = holders)]
async fn permits_of_one_name(holders: u32) -> Result<(), LockError> {
    Ok(())
}

fn main() {}
