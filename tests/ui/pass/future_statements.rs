//! Functions that return their future: statements before it, and the forms of its end.
#![deny(warnings)]
#![allow(dead_code, clippy::manual_async_fn, clippy::needless_return)]

use std::future::Future;
use std::pin::Pin;

use redlock_runtime::{LockError, redlock};

type Boxed<'a, T> = Pin<Box<dyn Future<Output = Result<T, LockError>> + Send + 'a>>;

/// As futures-util's.
trait FutureExt: Future {
    fn boxed<'a>(self) -> Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>
    where
        Self: Sized + Send + 'a,
    {
        Box::pin(self)
    }
}

impl<F: Future> FutureExt for F {}

struct Shop {
    id: u64,
    list: Vec<u64>,
}

#[redlock(resource = "{id}")]
fn closures_that_return(id: u64) -> Boxed<'static, u64> {
    let typed = |x: u64| -> u64 { return x + 2 };
    let arms = |x| match x {
        0 => return 1,
        _ => 2,
    };
    Box::pin(async move { Ok(typed(id) + arms(id)) })
}

impl Shop {
    #[redlock(resource = "shop")]
    fn mutable_reference<'a>(&'a mut self) -> Boxed<'a, usize> {
        let list = &mut self.list;
        list.push(1);
        Box::pin(async move {
            list.push(2);
            Ok(list.len())
        })
    }

    #[redlock(resource = "{self.id}:{count.0}")]
    fn opaque(&mut self, more: Vec<u64>) -> impl Future<Output = Result<usize, LockError>> + Send {
        self.list.extend(more);
        let count = (self.list.len(),);
        async move {
            self.list.push(2);
            Ok(count.0)
        }
    }

    #[redlock(resource = "shop", guard = lease)]
    fn shared<'a>(&'a self, other: &'a Vec<u64>) -> Boxed<'a, usize> {
        let list = &self.list;
        return Box::pin(async move { Ok(list.len() + other.len() + lease.resource().to_string().len()) });
    }

    #[redlock(resource = "shop:{self.id}")]
    fn boxed_at_the_end(&self) -> Boxed<'_, u64> {
        let twice = self.id * 2;
        async move { Ok(twice) }.boxed()
    }

    #[redlock(resource = "shop", guard = lease)]
    fn borrows<'a>(&'a self, v: &'a (u64, Vec<u64>)) -> impl Future<Output = Result<usize, LockError>> + Send + 'a {
        async { Ok(self.list.len() + v.1.len() + lease.resource().to_string().len()) }
    }
}

#[redlock(resource = "{v.0}")]
fn borrows(v: &(u64, Vec<u64>)) -> impl Future<Output = Result<usize, LockError>> + Send {
    async { Ok(v.1.len()) }
}

#[redlock(resource = "shop")]
fn returns_an_opaque_future(id: u64) -> impl Future<Output = Result<u64, LockError>> {
    let twice = id * 2;
    return async move { Ok(twice) };
}

trait Charge {
    fn charge(&self) -> impl Future<Output = Result<u64, LockError>> + Send;
}

impl Charge for u64 {
    #[redlock(resource = "a", name = "as async")]
    async fn charge(&self) -> Result<u64, LockError> {
        Ok(*self)
    }
}

impl Charge for u8 {
    #[redlock(resource = "a", name = "as a future")]
    fn charge(&self) -> impl Future<Output = Result<u64, LockError>> + Send {
        let twice = u64::from(*self) * 2;
        async move { Ok(twice) }
    }
}

fn main() {}
