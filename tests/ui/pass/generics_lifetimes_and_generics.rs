//! Lifetimes, generics and const generics pass through untouched.
#![deny(warnings)]
#![allow(dead_code)]

use std::fmt::{Debug, Display};

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "{key}")]
async fn elided(key: &str) -> Result<&str, LockError> {
    Ok(key)
}

#[redlock(resource = "{key}")]
async fn named<'a, 'b: 'a>(key: &'a str, other: &'b mut Vec<u8>) -> Result<(&'a str, &'b [u8]), LockError> {
    other.push(1);
    Ok((key, other))
}

#[redlock(resource = "{key}")]
async fn anonymous(key: &str) -> Result<Box<dyn Debug + '_>, LockError> {
    Ok(Box::new(key))
}

#[redlock(resource = "{key}:{N}")]
async fn generic<T, const N: usize>(key: T, rest: [T; N]) -> Result<[T; N], LockError>
where
    T: Display,
{
    drop(key);
    Ok(rest)
}

struct Store<'s, T, const N: usize> {
    items: &'s [T; N],
}

impl<'s, T: Display + 's, const N: usize> Store<'s, T, N> {
    const PREFIX: &'static str = "store";

    #[redlock(resource = "{key}:{N}", guard = lease)]
    async fn get<K>(&mut self, key: K, at: usize) -> Result<Option<&'s T>, LockError>
    where
        K: Display + Clone,
    {
        let _ = (lease.resource(), key.clone(), Self::PREFIX);
        Ok(self.items.get(at))
    }
}

fn main() {}
