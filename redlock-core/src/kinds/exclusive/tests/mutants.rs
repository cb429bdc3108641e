//! The mutants of locks with a single holder, for `tests/simulation`.

mutants! {
    "acquire-without-nx" breaks Exclusion in Calm:
        set { store.set_nx } => { store.set };
        set { Ok(held?.unwrap_or(Value::Nil)) } => { held.map(|_| Value::Nil) };

    "release-by-plain-del" breaks ForeignRelease in Faulty:
        release_each { held[..] == **token } => { !token.is_empty() };

    "extension-by-set" breaks ForeignChange in Faulty:
        find_locks { held == arguments[0] } => { true };
        extend { store.ensure_ttl(key, ttl) } => { store.set(key, arguments[0], ttl)? };
}
