//! `Self`, associated types and constants, and generic associated types in signatures.
#![deny(warnings)]
#![allow(dead_code, async_fn_in_trait)]

use redlock_runtime::{LockError, redlock};

trait Store: Sized {
    type Item<'a>: AsRef<str>
    where
        Self: 'a;
    type Key: std::fmt::Display + Clone;
    type Error: From<LockError>;
    const NAME: &'static str;

    fn item<'a>(&'a self, key: &'a Self::Key) -> Self::Item<'a>;

    #[redlock(resource = "{key}")]
    async fn get<'a>(&'a self, key: &'a Self::Key) -> Result<Self::Item<'a>, Self::Error> {
        Ok(self.item(key))
    }

    #[redlock(resource = Self::NAME)]
    async fn swap(self, other: Self) -> Result<[Self; 2], Self::Error> {
        Ok([other, self])
    }

    #[redlock(resource = "{N}", ttl = Self::TTL)]
    async fn constant<const N: usize>(keys: [Self::Key; N]) -> Result<[Self::Key; N], <Self as Store>::Error> {
        Ok(keys)
    }

    const TTL: std::time::Duration = std::time::Duration::from_secs(5);
}

struct Memory {
    items: Vec<String>,
}

impl Store for Memory {
    type Item<'a> = &'a str;
    type Key = usize;
    type Error = LockError;
    const NAME: &'static str = "memory";

    fn item<'a>(&'a self, key: &'a usize) -> &'a str {
        &self.items[*key]
    }
}

impl Memory {
    #[redlock(resource = <Self as Store>::NAME)]
    async fn keys(&self) -> Result<impl Iterator<Item = <Self as Store>::Key> + '_, <Self as Store>::Error> {
        Ok(0..self.items.len())
    }
}

fn main() {}
