//! Names of a `macro_rules!` macro and of its caller stay apart, also in templates.
#![deny(warnings)]
#![allow(dead_code)]

use redlock_runtime::{LockError, redlock};

/// `id` and `pair` are the macro's own names, also if the caller's parameter has the same name.
macro_rules! with_own_names {
    ($name:ident, $callers:ident, $body:expr) => {
        #[redlock(resource = "{id}:{pair.0}", guard = lease)]
        async fn $name(id: u64, pair: (u64, u64), $callers: u64) -> Result<u64, LockError> {
            let _ = lease.resource();
            let own = pair.1 + id;
            Ok($body + own)
        }
    };
}
with_own_names!(other_name, other, other + 1);
with_own_names!(same_name, id, id + 1);
with_own_names!(same_name_as_the_pair, pair, pair * 2);
with_own_names!(same_name_as_a_local, own, own * 2);
with_own_names!(same_name_as_an_argument, arg0, arg0 * 2);

/// The template is the caller's, and so are the names in it.
macro_rules! with_template {
    ($name:ident, $template:literal, ($($parameter:ident: $ty:ty),*)) => {
        #[redlock(resource = $template)]
        async fn $name($($parameter: $ty),*) -> Result<(), LockError> {
            $(drop($parameter);)*
            Ok(())
        }
    };
}
with_template!(plain, "{id}", (id: String));
with_template!(dotted, "{pair.0}:{id}", (pair: (String, String), id: String));

/// A macro in a macro.
macro_rules! outer {
    ($name:ident, $parameter:ident) => {
        macro_rules! inner {
            ($other:ident) => {
                #[redlock(resource = "inner", ttl = 50, guard = lease)]
                async fn $name($parameter: u8, $other: u8) -> Result<u8, LockError> {
                    let _ = lease;
                    Ok($parameter + $other)
                }
            };
        }
        inner!(b);
    };
}
outer!(nested, a);

/// Functions that are made inside of a function.
macro_rules! local {
    ($($name:ident),*) => {
        $(
            #[redlock(resource = "local")]
            async fn $name() -> Result<&'static str, LockError> {
                Ok(stringify!($name))
            }
        )*
    };
}

fn main() {
    local!(one, two);
    drop((one(), two()));
}
