//! Templates as text: escapes, other alphabets, raw strings, and all that a format can say.
#![deny(warnings)]
#![allow(dead_code, mixed_script_confusables, clippy::duplicate_underscore_argument, clippy::used_underscore_binding)]

use std::net::IpAddr;
use std::path::Path;

use redlock_runtime::{LockError, redlock};

static SHARD: u8 = 1;
const WIDTH: usize = 8;

struct Zamówienie {
    numéro: u64,
    r#fn: [u8; 2],
}

#[redlock(resource = "zamówienie:{numéro}:{zamówienie}")]
async fn other_alphabets(numéro: u64, zamówienie: &str) -> Result<u64, LockError> {
    let _ = zamówienie;
    Ok(numéro)
}

#[redlock(resource = "żółć:{order.fn:?}:{id}")]
async fn around_a_field(order: Zamówienie, id: u64) -> Result<u64, LockError> {
    Ok(id + order.numéro)
}

#[redlock(resource = "a\t\"b\"\u{1F512}\\ \
                      {id}\
                      {pair.0}")]
async fn escapes(id: u64, pair: (u64, u64)) -> Result<u64, LockError> {
    Ok(id + pair.1)
}

#[redlock(resource = "
    {id}
")]
async fn lines(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = r#"{{"order":"{id}","of":"{pair.0}"}}"#)]
async fn json(id: u64, pair: (u64, u64)) -> Result<u64, LockError> {
    Ok(id + pair.1)
}

#[redlock(resource = "{SHARD}:{WIDTH}:{id:WIDTH$}:{id:0>width$.precision$}:{name:^+#10}:{id:e}")]
async fn specs(id: f64, width: usize, precision: usize, name: f64) -> Result<(), LockError> {
    let _ = (id, width, precision, name);
    Ok(())
}

#[redlock(resource = "{pair.0:width$}:{pair.1:#06x}:{pair.0:?}:{pair.1 }")]
async fn specs_of_fields(pair: (u64, u64), width: usize) -> Result<u64, LockError> {
    let _ = width;
    Ok(pair.0)
}

#[redlock(resource = "{address}:{path:?}:{flag}:{letter}:{unit:?}:{boxed}")]
async fn types(
    address: IpAddr,
    path: &Path,
    flag: bool,
    letter: char,
    unit: (),
    boxed: Box<dyn std::fmt::Display + Send>,
) -> Result<(), LockError> {
    let () = unit;
    let _ = (address, path, flag, letter, boxed);
    Ok(())
}

#[redlock(resource = "{grid.0.1.0}:{grid.1}:{arg0}:{arg1}:{_arg0}")]
async fn indices(grid: ((u8, (u8,)), u8), arg0: u8, arg1: u8, _arg0: u8) -> Result<u8, LockError> {
    Ok(grid.1 + arg0 + arg1)
}

fn main() {}
