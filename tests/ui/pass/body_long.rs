//! Bodies that are long, and deep.
#![deny(warnings)]
#![allow(dead_code, unused_braces, unused_parens, clippy::double_parens, clippy::needless_else)]
#![recursion_limit = "256"]

use redlock_runtime::{LockError, redlock};

/// Ten statements for each statement.
macro_rules! ten {
    ($($statement:tt)*) => {
        $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
        $($statement)* $($statement)* $($statement)* $($statement)* $($statement)*
    };
}

macro_rules! function {
    ($name:ident, $n:ident, $($body:tt)*) => {
        #[redlock(resource = $n.to_string(), guard = lease)]
        async fn $name(mut $n: u64) -> Result<u64, LockError> {
            $($body)*
            let _ = lease.resource();
            Ok($n)
        }
    };
}

function!(long, n,
    ten! { n += 1; n ^= 3; if n == 5 { return Ok(n); } tokio::task::yield_now().await; }
    ten! { n += 1; n ^= 3; let m = n; tokio::task::yield_now().await; n -= m; }
    ten! { n += 1; n ^= 3; n <<= 1; tokio::task::yield_now().await; }
    ten! { n += 1; n ^= 3; n <<= 1; { let m = n; n = m * 2; } }
    ten! { n += 1; n ^= 3; n <<= 1; n += [1, 2, 3].iter().sum::<u64>(); }
    ten! { n += 1; n ^= 3; n <<= 1; n += n.to_string().parse::<u64>().unwrap_or(1); }
    ten! { n += 1; n ^= 3; n <<= 1; n += u64::from(n.is_power_of_two()); }
    ten! { n += 1; n ^= 3; n <<= 1; n += 1; }
);

/// One block deeper with each token.
macro_rules! deep {
    ($n:ident) => { Ok($n) };
    ($n:ident $one:tt $($rest:tt)*) => {
        if $n > 0 {
            $n += 1;
            async { deep!($n $($rest)*) }.await
        } else {
            return Ok($n);
        }
    };
}

#[redlock(resource = "deep")]
async fn deep(mut n: u64) -> Result<u64, LockError> {
    deep!(n x x x x x x x x x x x x x x x x)
}

#[redlock(resource = "nested")]
async fn nested(n: u64) -> Result<u64, LockError> {
    #[rustfmt::skip]
    let r = { { { { { { { { { { { { { { { { (((((((((((((((n))))))))))))))) } } } } } } } } } } } } } } } };
    Ok(r)
}

fn main() {}
