//! The body is not parsed, and the signature is left alone: syntax of any age goes through.
#![deny(warnings)]
#![allow(dead_code, clippy::elidable_lifetime_names, clippy::type_complexity, clippy::items_after_statements)]

use std::ffi::CStr;

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "let chains")]
async fn let_chains(text: Option<&str>) -> Result<u64, LockError> {
    if let Some(text) = text
        && !text.is_empty()
        && let Ok(n) = text.parse::<u64>()
    {
        return Ok(n);
    }
    Ok(0)
}

#[redlock(resource = "{n}")]
async fn precise_capturing<'a, T: AsRef<str>>(n: u64, text: &'a T) -> Result<impl Iterator<Item = u8> + use<'a, T>, LockError> {
    Ok(text.as_ref().bytes().take(usize::try_from(n).unwrap_or(0)))
}

#[redlock(resource = "closures")]
async fn async_closures(n: u64) -> Result<u64, LockError> {
    let add = async |m: u64| n + m;
    let sub = async move |m: u64| -> u64 { n - m };
    Ok(add(1).await + sub(1).await)
}

#[redlock(resource = "blocks")]
async fn blocks(n: u64) -> Result<u64, LockError> {
    let size = const { size_of::<u64>() as u64 };
    let raw = &raw const n;
    let name: &CStr = c"name";
    let edge = match n {
        ..5 => 'a',
        5..=9 | 20.. => 'b',
        _ => 'c',
    };
    let numbers: &[u64] = &[n, size];
    let [first, rest @ ..] = numbers else { unreachable!() };
    let ([_, last] | [last]) = rest else { return Ok(*first) };
    Ok(last + name.count_bytes() as u64 + u64::from(raw.is_null()) + u64::from(edge))
}

#[redlock(resource = "functions")]
async fn functions() -> Result<(fn() -> !, for<'a> fn(&'a str) -> &'a str), LockError> {
    unsafe extern "C" {
        safe fn abs(n: i32) -> i32;
    }
    #[unsafe(no_mangle)]
    extern "C" fn of_this_case() -> i32 {
        abs(-1)
    }
    of_this_case();
    Ok((|| panic!("never"), |text| text))
}

fn main() {}
