//! Bodies that leave in every way there is.
#![deny(warnings)]
#![allow(dead_code, clippy::todo)]

use std::num::ParseIntError;

use redlock_runtime::{LockError, redlock};

#[derive(Debug)]
enum AppError {
    Lock(LockError),
    Parse(ParseIntError),
}

impl From<LockError> for AppError {
    fn from(error: LockError) -> Self {
        Self::Lock(error)
    }
}

impl From<ParseIntError> for AppError {
    fn from(error: ParseIntError) -> Self {
        Self::Parse(error)
    }
}

#[redlock(resource = "{text}")]
async fn question_mark(text: &str) -> Result<u64, AppError> {
    let n: u64 = text.parse()?;
    Ok(n)
}

#[redlock(resource = "{n}")]
async fn early_return(n: u64) -> Result<u64, AppError> {
    if n == 0 {
        return Err("x".parse::<u8>().unwrap_err().into());
    }
    return Ok(n);
}

#[redlock(resource = "{n}")]
async fn loops(n: u64) -> Result<u64, AppError> {
    let mut i = 0;
    'outer: loop {
        for j in 0..n {
            if i + j > 10 {
                break 'outer;
            }
            if j > 5 {
                continue 'outer;
            }
            i += j + 1;
        }
        if i > 100 {
            return Ok(i);
        }
        i += 1;
    }
    Ok(i)
}

#[redlock(resource = "todo")]
async fn not_written_yet() -> Result<u64, AppError> {
    todo!()
}

#[redlock(resource = "panic")]
async fn always_panics() -> Result<(), AppError> {
    panic!("no")
}

#[redlock(resource = "forever")]
async fn never_ends() -> Result<(), AppError> {
    loop {
        std::future::ready(()).await;
    }
}

#[redlock(resource = "unit")]
async fn unit_tail() -> Result<(), AppError> {
    std::future::ready(()).await;
    Ok(())
}

#[redlock(resource = "inferred")]
async fn inferred(words: Vec<&str>) -> Result<Vec<String>, AppError> {
    Ok(words.into_iter().map(Into::into).collect())
}

#[redlock(resource = "coerced")]
async fn coerced(n: u8) -> Result<Box<dyn Send>, Box<dyn std::error::Error>> {
    if n == 0 {
        return Err("zero".into());
    }
    Ok(Box::new(n))
}

fn main() {}
