//! Callers of `macro_rules!`: every part of a function and of the attribute from a fragment.
#![deny(warnings)]
#![allow(dead_code, clippy::unused_async)]

use std::fmt::Display;
use std::time::Duration;

use redlock_runtime::{LockError, redlock};

struct User {
    id: u64,
}

macro_rules! whole_function {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($arg:ident: $ty:ty) -> $ret:ty, $key:literal, $ttl:expr, $body:block) => {
        $(#[$meta])*
        #[redlock(resource = $key, ttl = $ttl)]
        $vis async fn $name($arg: $ty) -> $ret $body
    };
}
whole_function!(
    /// Documented.
    #[must_use = "for nothing otherwise"]
    pub(crate) fn documented(id: u64) -> Result<u64, LockError>, "a:{id}", Duration::from_secs(1), {
        Ok(id)
    }
);

macro_rules! key {
    ($name:ident, $key:expr) => {
        #[redlock(resource = $key)]
        async fn $name() -> Result<(), LockError> {
            Ok(())
        }
    };
}
key!(literal_as_expression, "fixed");
key!(expression, format!("b:{}", 1));
key!(array_as_expression, ["a", "b"]);
key!(nested_parens, (("fixed")));

macro_rules! item {
    ($key:literal, $item:item) => {
        #[redlock(resource = $key)]
        $item
    };
}
item! { "item", async fn of_an_item(id: u64) -> Result<u64, LockError> { Ok(id) } }

macro_rules! attribute {
    ($name:ident, $id:ident, $($argument:tt)*) => {
        #[redlock($($argument)*)]
        async fn $name($id: u64, user: User) -> Result<u64, LockError> {
            Ok($id + user.id)
        }
    };
}
attribute!(of_arguments, id, resource = "{id}:{user.id}", ttl = 50, pools = ["a", "b"]);

macro_rules! pattern {
    ($name:ident, $pattern:pat, $ty:ty, $lifetime:lifetime) => {
        #[redlock(resource = "{key}")]
        async fn $name<$lifetime>(key: &$lifetime str, $pattern: $ty) -> Result<&$lifetime str, LockError> {
            Ok(key)
        }
    };
}
pattern!(of_a_pattern, (_, User { id: _id }), (u8, User), 'a);

macro_rules! method {
    ($self:ident, $ty:ident, $error:path, $name:ident) => {
        impl $ty {
            #[redlock(resource = "{self.id}", guard = $name)]
            async fn method(&$self) -> Result<u64, $error> {
                let _ = $name.resource();
                Ok($self.id)
            }
        }
    };
}
method!(self, User, LockError, lease);

macro_rules! generic {
    ($name:ident<$($generic:ident: $bound:path),*>) => {
        #[redlock(resource = "{key}")]
        async fn $name<$($generic: $bound),*>(key: A, other: B) -> Result<(A, B), LockError> {
            Ok((key, other.clone()))
        }
    };
}
generic!(of_generics<A: Display, B: Clone>);

fn main() {
    drop(documented(1));
}
