//! Tests of the values and the lives of counters.

use std::time::Duration;

use super::{Counters, PERIOD, USUAL_LIFE, raise_counters};
use crate::env::Moment;
use crate::node::store::Store;
use crate::node::{Argument, WIRE_FORMAT};
use crate::quorum::fencing::COUNTER_IDLE;

const COUNTER: &[&[u8]] = &[b"counter"];
const NOW: Duration = Duration::from_secs(1_700_000_000);

fn store(found: Option<(&str, i64)>) -> Store {
    let mut store = Store::default();
    store.begin(Moment::from_origin(NOW), NOW);
    if let Some((text, ttl)) = found {
        store.set(COUNTER[0], text.as_bytes(), ttl).unwrap();
    }
    store.begin(Moment::from_origin(NOW), NOW);
    store
}

#[test]
fn the_script_reads_markers_of_this_wire_format() {
    let pattern = format!("'^{WIRE_FORMAT} (%d+)'");
    assert!(include_str!("counters.lua").contains(&pattern));
}

#[test]
fn the_script_has_the_period_and_the_usual_life() {
    let script = include_str!("counters.lua");
    assert!(script.contains(&format!("count % {}, ", PERIOD.as_micros())));
    assert!(script.contains(&format!(
        "life <= {} and count <= latest\n",
        USUAL_LIFE.as_millis()
    )));
}

/// Raises the counter as an acquisition does, at these times of the node's monotonic and wall clocks.
fn raise(store: &mut Store, clocks: [Duration; 2], hint: Duration, ttl: Duration) -> i64 {
    let [monotonic, wall] = clocks;
    store.begin(Moment::from_origin(monotonic), wall);
    let hint = u64::try_from(hint.as_micros()).unwrap();
    let numbers = Counters::acquisition_args(hint, ttl);
    let numbers = numbers.each_ref().map(Argument::as_bytes);
    raise_counters(store, COUNTER, 2, &numbers).unwrap().count
}

#[test]
fn a_counter_raised_without_a_pause_lives_for_an_hour() {
    let minutes = |it: u64| Duration::from_secs(60 * it);
    for (ttl, life) in [(1, 60), (35, 70), (90, 180)].map(|it| (minutes(it.0), minutes(it.1))) {
        for hint_ahead in [-5, 0, 5] {
            let (mut store, mut now) = (store(None), NOW);
            for step in 0..400 {
                now += Duration::from_secs(7 * (step % 5));
                let hint = Duration::from_secs(now.as_secs().saturating_add_signed(hint_ahead));
                // Another caller of the lock has a short ttl.
                raise(&mut store, [now; 2], hint, minutes(1));
                raise(&mut store, [now; 2], hint, ttl);
                let left = u128::from(store.pttl(COUNTER[0]).unsigned_abs());
                let least = life.as_millis();
                assert!(
                    left + 1000 >= least,
                    "{left} of {least} after {step}, {hint_ahead}"
                );
            }
        }
    }
}

#[test]
fn a_counter_ahead_of_a_clock_that_was_set_back_stays() {
    let (mut store, ttl) = (store(None), Duration::from_secs(60));
    let ahead = NOW + COUNTER_IDLE * 3;
    let mut last = raise(&mut store, [NOW, ahead], ahead, ttl);
    for step in 1..60 {
        let now = NOW + Duration::from_secs(300 * step);
        let count = raise(&mut store, [now; 2], now, ttl);
        assert!(count > last, "{count} after {last} at {step}");
        last = count;
    }
}

#[test]
fn no_call_shortens_the_life_of_a_counter() {
    let acquisition = [b"1700000000000000".as_slice(), b"1000", b"5000"];
    let extension = [b"7".as_slice(), b"1000"];
    for numbers in [&acquisition[..], &extension] {
        for text in ["6", "7"] {
            for (before, after) in [(9000, 9000), (10, 1000)] {
                let mut store = store(Some((text, before)));
                raise_counters(&mut store, COUNTER, 0, numbers).unwrap();
                assert_eq!(store.pttl(COUNTER[0]), after, "{text} {numbers:?}");
            }
        }
    }
}

#[test]
fn an_extension_that_raises_no_counter_writes_no_counter() {
    let mut full = store(Some(("7", 10)));
    full.fill(true);
    assert_eq!(
        raise_counters(&mut full, COUNTER, 0, &[b"7", b"1000"]).map(|it| it.count),
        Ok(7)
    );
    assert_eq!(full.pttl(COUNTER[0]), 1000);
    let mut empty = store(None);
    assert_eq!(
        raise_counters(&mut empty, COUNTER, 0, &[b"0", b"1000"]).map(|it| it.count),
        Ok(0)
    );
    assert!(!empty.exists(COUNTER[0]));
}
