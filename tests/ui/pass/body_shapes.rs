//! Bodies of every shape.
#![deny(warnings)]
#![allow(dead_code, clippy::items_after_statements, clippy::redundant_else, clippy::unnecessary_wraps)]
#![allow(clippy::needless_question_mark, clippy::never_loop)]

use std::convert::Infallible;
use std::ops::ControlFlow;

use redlock_runtime::{FromLockError, LockError, redlock};

macro_rules! answer {
    ($n:expr) => {
        Ok($n)
    };
    ($($n:expr),+ $(,)?) => {{
        $(let _ = $n;)+
        return Ok(0);
    }};
}

#[redlock(resource = "let else")]
async fn let_else(text: Option<&str>) -> Result<u64, LockError> {
    let Some(text) = text else {
        return Ok(0);
    };
    let (Ok(n) | Err(n)) = text.parse::<u64>().map_err(|_| 1);
    Ok(n)
}

#[redlock(resource = "macro")]
async fn macro_at_the_end(n: u64) -> Result<u64, LockError> {
    answer!(n)
}

#[redlock(resource = "macro")]
async fn macro_statement_at_the_end(n: u64) -> Result<u64, LockError> {
    answer!(n, n + 1);
}

#[redlock(resource = "items")]
async fn items_only() -> Result<(), LockError> {
    use std::fmt::Write as _;
    const N: usize = 1;
    struct Local([u8; N]);
    impl Local {
        fn new() -> Self {
            Self([0; N])
        }
    }
    fn helper() -> Result<(), LockError> {
        let mut text = String::new();
        let _ = write!(text, "{}", Local::new().0.len());
        Ok(())
    }
    helper()
}

#[redlock(resource = "inner returns")]
async fn inner_returns(n: u8) -> Result<u8, LockError> {
    let closure = |m: u8| -> Option<u8> {
        if m == 0 {
            return None;
        }
        Some(m.checked_add(n)?)
    };
    let block = async {
        if n == 0 {
            return 5_u8;
        }
        std::future::ready(6).await
    };
    let async_closure = async |m: u8| -> Result<u8, std::num::TryFromIntError> {
        if m == 0 {
            return Ok(0);
        }
        u8::try_from(u16::from(m) + 1)
    };
    Ok(closure(1).unwrap_or(0) + block.await + async_closure(n).await.unwrap_or(0))
}

#[redlock(resource = "blocks")]
async fn blocks(xs: &[u8]) -> Result<u8, LockError> {
    let found = 'found: {
        for x in xs {
            if *x > 5 {
                break 'found *x;
            }
        }
        return Ok(0);
    };
    let sum = loop {
        break xs.iter().sum::<u8>();
    };
    match (found, sum) {
        (0, _) => return Ok(0),
        (n, 0) => Ok(n),
        (n, m) => {
            if let ControlFlow::Break(b) = (0..n).try_for_each(|i| if i > m { ControlFlow::Break(i) } else { ControlFlow::Continue(()) }) {
                Ok(b)
            } else {
                Ok(m)
            }
        }
    }
}

#[redlock(resource = "statement")]
async fn returns_at_the_end(n: u8) -> Result<u8, LockError> {
    if n > 5 {
        return Ok(1);
    } else {
        return Ok(2);
    };
}

#[redlock(resource = "never")]
async fn never() -> Result<Infallible, LockError> {
    std::future::pending().await
}

struct Unit;

impl FromLockError for Unit {
    fn from_lock_error(_: LockError) -> Self {
        Self
    }
}

#[redlock(resource = "one expression")]
async fn one_expression() -> Unit {
    Unit
}

#[redlock(resource = "exit")]
async fn exits() -> Unit {
    std::process::exit(1)
}

#[redlock(resource = "exit")]
async fn panics(n: u8) -> Unit {
    match n {
        0 => unreachable!("{n}"),
        1 => unimplemented!(),
        _ => panic!(),
    }
}

#[redlock(resource = "temporaries")]
async fn temporaries(lock: &std::sync::Mutex<Vec<u8>>) -> Result<usize, LockError> {
    Ok(lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner).len())
}

fn main() {}
