//! The mutants of readers and writers, for `tests/simulation`.

mutants! {
    "an-extension-revives-an-entry" breaks Entry in Sharing:
        extend_read { if ends.is_none_or } => { if !is_read && ends.is_none_or };

    "readers-without-a-marker" breaks Exclusion in Sharing:
        acquire_read { store.set(key, READERS_MARKER, life)?; } => {};

    "a-marker-for-the-reader-that-came-last" breaks Exclusion in Sharing:
        acquire_read { store.pexpire(key, life) } => { store.pexpire(key, ends - now) };

    "a-reader-takes-the-marker-of-the-others-along" breaks Exclusion in Sharing:
        release_shared { settle(store, keys, is_read, token, None)? } => { store.del(key) };

    "a-reader-takes-another-readers-entry-along" breaks Entry in Sharing:
        release_shared { if store.zrem(readers, token)? } => {
            let reader = store.entries(readers)?.keys().find(|reader| ***reader != *token).cloned();
            reader.map(|it| store.zrem(readers, &it)).transpose()?;
            if store.zrem(readers, token)?
        };

    "an-extension-moves-an-entry-back" breaks Entry in Sharing:
        settle { store.zadd } => { store.zrem(readers, token)?; store.zadd };

    "a-writer-beside-readers" breaks Exclusion in Sharing:
        writer_obstacle { !store.entries(readers)?.is_empty() } => { false };

    "a-reader-is-put-back-beside-a-writer" breaks ForeignChange in Sharing:
        extend_read { if let Some(holder) = other } => {
            if let Some(holder) = other && !arguments.ends_with(&[b"back"])
        };

    "a-failed-attempt-takes-the-intent-back" breaks Intent in Sharing:
        Writer::release_call { !is_lease } => { false };

    "a-counter-at-the-writers-token" breaks TokenUnique in Sharing:
        read_admission { count - below } => { count };

    "a-writer-that-takes-the-number-of-readers" breaks TokenUnique in Sharing:
        acquire_write { counters, 2 } => { counters, 1 };

    "a-readers-token-not-confirmed" breaks TokenOrder in Sharing:
        attempt { agree(context, &claim, &acquisition, until).await } => {
            let is_reader = request.kind == crate::request::Kind::Read;
            let unconfirmed = || TokenChoice::of(&acquisition.answers_now(&claim.nodes));
            match is_reader.then(unconfirmed).flatten() {
                Some(choice) => Ok(choice.block),
                None => agree(context, &claim, &acquisition, until).await,
            }
        };

    "a-reader-waits-for-nothing" breaks Exclusion in Sharing:
        acquire_read { (Some(holder), _) } => { (Some(holder), _) if false };
}
