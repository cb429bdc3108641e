//! Bounds of every kind: higher-ranked, `?Sized`, associated, const, and `impl Trait` arguments.
#![deny(warnings)]
#![allow(dead_code, clippy::multiple_bound_locations)]

use std::borrow::Cow;
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::marker::PhantomData;

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "{key}")]
async fn unsized_generics<T: ?Sized + Display, U: ?Sized>(key: &T, other: &U) -> Result<String, LockError>
where
    U: AsRef<str>,
{
    Ok(format!("{key}{}", other.as_ref()))
}

#[redlock(resource = "higher-ranked")]
async fn higher_ranked<F, G>(f: F, g: G) -> Result<usize, LockError>
where
    F: for<'a> Fn(&'a str) -> &'a str,
    G: Fn(&str, &str) -> usize,
    for<'a> &'a F: Send,
{
    Ok(g(f("a"), "b"))
}

#[redlock(resource = "{first}:{N}")]
async fn associated<I, const N: usize>(first: I::Item, rest: I) -> Result<[Option<I::Item>; N], LockError>
where
    I: IntoIterator,
    I::Item: Display + Clone + 'static,
    <I as IntoIterator>::IntoIter: DoubleEndedIterator,
{
    let mut rest = rest.into_iter().rev();
    let _ = first;
    Ok(std::array::from_fn(|_| rest.next()))
}

#[redlock(resource = "{key}")]
async fn impl_arguments(
    key: impl Display + Clone + Into<String>,
    other: &impl Debug,
    f: impl for<'a> FnOnce(&'a str) -> Cow<'a, str>,
) -> Result<String, LockError> {
    let text: String = key.into();
    Ok(format!("{}{other:?}", f(&text)))
}

#[redlock(resource = "async")]
async fn async_functions(f: impl AsyncFn(u8) -> u8, mut g: impl AsyncFnMut(u8)) -> Result<u8, LockError> {
    g(1).await;
    Ok(f(2).await)
}

#[redlock(resource = "{key}")]
async fn outlives<'short, 'long: 'short, T: 'long + Display>(key: &'short T, long: &'long T) -> Result<&'short T, LockError> {
    Ok(if key.to_string().is_empty() { key } else { long })
}

struct Cache<K, V = u8, const N: usize = 4>(PhantomData<(K, V)>);

impl<K: Hash + Eq + Display, V: Default, const N: usize> Cache<K, V, N> {
    const LIMIT: usize = N * 2;

    #[redlock(resource = "{key}:{N}", retry_count = Self::retries(N))]
    async fn get<Q>(&self, key: &Q) -> Result<(V, usize), LockError>
    where
        Q: ?Sized + Hash + Display,
        K: std::borrow::Borrow<Q>,
    {
        Ok((V::default(), Self::LIMIT + key.to_string().len()))
    }

    fn retries(n: usize) -> u32 {
        u32::try_from(n).unwrap_or(1)
    }
}

async fn calls() -> Result<(), LockError> {
    Cache::<String>(PhantomData).get("key").await?;
    unsized_generics("key", "other").await?;
    associated::<_, 2>(1, vec![2, 3]).await?;
    Ok(())
}

fn main() {}
