//! Functions that return their future, as `#[async_trait]` makes them: the block runs locked.
#![deny(warnings)]
#![allow(dead_code, clippy::manual_async_fn, clippy::needless_return)]

use std::future::Future;
use std::pin::Pin;

use redlock_runtime::{LockError, redlock};

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// As futures-util's.
trait FutureExt: Future {
    fn boxed<'a>(self) -> BoxFuture<'a, Self::Output>
    where
        Self: Sized + Send + 'a,
    {
        Box::pin(self)
    }
}

impl<F: Future> FutureExt for F {}

struct Service {
    id: u64,
}

impl Service {
    #[redlock(resource = "service:{self.id}:{n}", guard = lease)]
    fn boxed<'life, 'out>(
        &'life self,
        n: u64,
    ) -> ::core::pin::Pin<Box<dyn ::core::future::Future<Output = Result<String, LockError>> + Send + 'out>>
    where
        'life: 'out,
    {
        Box::pin(async move {
            if let Some(r) = None::<Result<String, LockError>> {
                return r;
            }
            let __self = self;
            let n = n;
            let r: Result<String, LockError> = { Ok(format!("{}{}{n}", __self.id, lease.resource())) };
            r
        })
    }

    #[redlock(resource = "service:{self.id}")]
    fn aliased(&self) -> BoxFuture<'_, Result<u64, LockError>> {
        let twice = self.id * 2;
        ::std::boxed::Box::pin(async move { Ok(twice) })
    }

    #[redlock(resource = "service:{self.id}")]
    fn boxed_at_the_end(&self) -> BoxFuture<'_, Result<u64, LockError>> {
        let twice = self.id * 2;
        async move { Ok(twice) }.boxed()
    }

    #[redlock(resource = "service:{self.id}")]
    fn boxed_and_returned(&self) -> BoxFuture<'_, Result<u64, LockError>> {
        let twice = self.id * 2;
        return async move { Ok(twice) }.boxed();
    }

    #[redlock(resource = "service:{self.id}")]
    fn only_boxed_and_returned(&self) -> BoxFuture<'_, Result<u64, LockError>> {
        return async move { Ok(self.id) }.boxed();
    }

    #[redlock(resource = "service:{self.id}")]
    fn opaque(&self) -> impl Future<Output = Result<u64, LockError>> + Send {
        async move {
            if self.id == 0 {
                return Ok(0);
            }
            Ok(self.id)
        }
    }
}

fn main() {}
