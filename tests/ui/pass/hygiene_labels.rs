//! Labels of the user's, of blocks and loops, written out and from a macro.
#![deny(warnings)]
#![allow(dead_code)]

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "labels", guard = lease)]
async fn labels(n: u8) -> Result<u8, LockError> {
    let _ = lease.resource();
    let first = 'body: {
        if n > 5 {
            break 'body n;
        }
        1
    };
    'body: loop {
        for m in 0..first {
            if m == n {
                break 'body;
            }
            if m > n {
                continue 'body;
            }
        }
        return Ok(first);
    }
    Ok('body: {
        if n == 0 {
            break 'body 5;
        }
        6
    })
}

macro_rules! find {
    ($in:expr, $wanted:expr) => {
        'body: {
            for (at, x) in $in.iter().enumerate() {
                if *x == $wanted {
                    break 'body Some(at);
                }
            }
            None
        }
    };
}

#[redlock(resource = "labels")]
async fn labels_of_a_macro(xs: &[u8]) -> Result<Option<usize>, LockError> {
    Ok(find!(xs, 5))
}

fn main() {}
