//! The mutants of fencing counters, for `tests/simulation`.

mutants! {
    "a-counter-that-repeats" breaks TokenUnique in Wild:
        raise_counters { step + before } => { 0 * step + before };
        read_fenced { first < count } => { true };

    "a-clients-wrong-clock-has-its-say" breaks TokenAhead in Faulty:
        raise_counters { .min(latest) } => {};

    "counters-that-are-ahead-idle-away" breaks TokenOrder in Misset:
        raise_counters { .saturating_add(ahead) } => {};

    "block-that-one-node-of-the-majority-gives" breaks TokenUnique in Sharing:
        TokenChoice::of { .max() } => { .min() };

    "block-reaches-back-where-a-counter-was-lost" breaks TokenOrder in Forgetful:
        TokenBlock::new { first.max(count.saturating_sub(MOST_NUMBERS)) } => { first };

    // Hints make the counters of all nodes equal, so these two mutants also remove the hints. That alone breaks
    // nothing.
    "token-confirmed-whoever-has-the-key" breaks TokenUnique in Wild:
        raise_counters { let window = parse_integer(window)?; } => { count = 0; let (window, now) = (0, 0_i64); };
        extend { let (locks, gone) } => {
            if arguments.len() == 4 && arguments[2] != b"0" {
                return raise_counters(store, &keys[keys.len() / 2..], 0, &arguments[2..]).map(|_| Value::Int(1));
            }
            let (locks, gone)
        };

    "token-confirmed-on-any-majority" breaks TokenUnique in Wild:
        raise_counters { let window = parse_integer(window)?; } => { count = 0; let (window, now) = (0, 0_i64); };
        extend { let (locks, gone) } => {
            if arguments.len() == 4 && arguments[2] != b"0" {
                return raise_counters(store, &keys[keys.len() / 2..], 0, &arguments[2..]).map(|_| Value::Int(1));
            }
            let (locks, gone)
        };
        agree { &below } => { &(0..votes.len()).collect::<Vec<_>>() };
        agree { let mut answers } => {
            if round.tally().is_won() {
                return Ok(block);
            }
            let mut answers
        };
}
