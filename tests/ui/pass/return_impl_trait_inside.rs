//! `impl Trait` wherever a return type can have it: in tuples, references, paths, and in the
//! associated types of trait objects.
#![deny(warnings)]
#![allow(dead_code, clippy::type_complexity, clippy::manual_async_fn)]

use std::fmt::{Debug, Display};
use std::future::Future;
use std::pin::Pin;

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a")]
async fn of_an_iterator(n: u8) -> Result<impl Iterator<Item = impl Display>, LockError> {
    Ok(std::iter::once(n))
}

#[redlock(resource = "a")]
async fn of_a_trait_object(n: u8) -> Result<Box<dyn Iterator<Item = (impl Display, Vec<impl Debug>)> + Send>, LockError> {
    if n == 0 {
        return Ok(Box::new(std::iter::empty()));
    }
    Ok(Box::new(std::iter::once((n, vec![n]))))
}

#[redlock(resource = "a")]
async fn of_a_future(n: u8) -> Result<Option<Pin<Box<dyn Future<Output = impl Debug> + Send>>>, LockError> {
    Ok(Some(Box::pin(async move { n })))
}

#[redlock(resource = "a")]
async fn of_parts<'a>(n: &'a [u8; 2]) -> Result<(&'a impl Debug, [impl Debug; 1], &'a [impl Debug]), LockError> {
    Ok((&n[0], [n[0]], &n[..]))
}

#[redlock(resource = "a")]
fn of_a_returned_future(n: u8) -> impl Future<Output = Result<impl Debug, LockError>> {
    async move { Ok(n) }
}

struct Store(Vec<u8>);

impl Store {
    #[redlock(resource = "a")]
    async fn of_a_method(&self) -> Result<impl Iterator<Item = &u8> + Clone, LockError> {
        Ok(self.0.iter())
    }
}

macro_rules! returning {
    ($name:ident, $ty:ty, $value:expr) => {
        #[redlock(resource = "a")]
        async fn $name() -> Result<$ty, LockError> {
            Ok($value)
        }
    };
}
returning!(of_a_macro, impl Debug, 1_u8);
returning!(in_a_path_of_a_macro, Vec<impl Debug>, vec![1_u8]);
returning!(in_a_tuple_of_a_macro, (u8, Box<dyn Iterator<Item = impl Debug>>), (1, Box::new(std::iter::once(2_u8))));

fn main() {}
