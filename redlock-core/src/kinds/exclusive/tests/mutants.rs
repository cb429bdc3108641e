//! The mutants of locks that one holder has, for `tests/simulation`.

mutants! {
    "acquire-without-nx" breaks Exclusion in Calm:
        set { store.set_nx } => { store.set };
        set { Ok(held?.unwrap_or(Value::Nil)) } => { held.map(|_| Value::Nil) };

    "release-by-plain-del" breaks ForeignRelease in Faulty:
        released { held[..] == **token } => { !token.is_empty() };

    "extension-by-set" breaks ForeignChange in Faulty:
        locks { held == arguments[0] } => { true };
        extend { live(store, key, ttl) } => { store.set(key, arguments[0], ttl)? };
}
