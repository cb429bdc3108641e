//! What must not be, by what servers did and callers were told.

use std::collections::{BTreeMap, BTreeSet};

use redlock_core::node::{Answer, NodeErrorKind, Remaining};

use super::log::{Did, Kind, Served};
use super::raw::Asked;
use super::slots::slot_of;
use super::town::Shared;

/// What servers did for one submission.
type Deeds<'a> = BTreeMap<(Kind, &'a [u8], &'a [u8], u64), Vec<&'a Served>>;

/// Each submission was answered once, in time, and by its own answer.
pub(super) fn answers(town: &Shared, asked: &[Asked], longest: u64, found: &mut Vec<String>) {
    let mut town = town.lock().expect("no panic");
    let asked = || asked.iter().filter(|asked| !asked.is_dropped);
    for asked in asked() {
        town.count(match &asked.answer {
            Some((_, Answer::Granted { .. })) if !asked.numbers.is_empty() => "permits granted",
            Some((_, Answer::Granted { .. })) => "granted",
            Some((_, Answer::Held(_))) => "held by another",
            Some((_, Answer::Failed(error))) if error.was_sent() => "failed when it was sent",
            Some((_, Answer::Failed(_))) => "failed before it was sent",
            _ => "absent",
        });
    }
    let mut deeds: Deeds<'_> = BTreeMap::new();
    for served in &town.served {
        let what = (
            served.kind,
            &served.key[..],
            &served.token[..],
            served.number,
        );
        deeds.entry(what).or_default().push(served);
    }
    for asked in asked() {
        let what = (asked.kind, &asked.key[..], &asked.token[..], asked.number);
        let deeds = deeds.get(&what).map_or(&[][..], Vec::as_slice);
        if let Some(problem) = problem(asked, deeds, longest) {
            let deeds: Vec<_> = deeds.iter().map(ToString::to_string).collect();
            found.push(format!("{problem}: {asked:?}, and servers did {deeds:#?}"));
        }
    }
}

/// Whether the server knows the named holder. True if no holder was named.
fn is_named(by: Option<&[u8]>, named: Option<&str>) -> bool {
    named.is_none_or(|named| by.is_some_and(|by| by.starts_with(named.as_bytes())))
}

fn problem(asked: &Asked, deeds: &[&Served], longest: u64) -> Option<&'static str> {
    let Some((at, answer)) = &asked.answer else {
        return Some("never answered");
    };
    let at = *at;
    if at > asked.since + longest {
        return Some("answered too late");
    }
    let mut known = deeds
        .iter()
        .filter(|served| (asked.since..=at).contains(&served.at));
    let mut is_known = |is_it: &dyn Fn(&Did) -> bool| known.any(|served| is_it(&served.did));
    let is_true = match answer {
        Answer::Granted {
            counter, permits, ..
        } => is_known(&|did| match (did, permits) {
            (Did::Granted(count), None) => count == counter,
            (Did::Permit(place), Some(report)) => {
                report.taken == place.map(|place| asked.numbers[usize::from(place)])
            }
            _ => false,
        }),
        Answer::Absent => is_known(&|did| *did == Did::Absent),
        Answer::Held(holding) => is_known(&|did| match (did, holding.remaining()) {
            (Did::Left(left), Remaining::Expires(for_)) => {
                u128::try_from(*left) == Ok(for_.as_millis())
            }
            (Did::Held(by), Remaining::Unknown) => is_named(by.as_deref(), holding.owner()),
            // A command tells no difference.
            (Did::Absent, Remaining::Unknown) => asked.kind == Kind::Release,
            _ => false,
        }),
        Answer::Failed(error) => {
            let text = error.to_string();
            if text == "the node went away" || text == "the node's driver has ended" {
                return Some("nobody answered it");
            }
            // A release may be owed, and served when there is a connection again.
            let is_done = deeds
                .iter()
                .any(|served| matches!(served.did, Did::Granted(_) | Did::Permit(_)));
            if !error.was_sent() && is_done && asked.kind != Kind::Release {
                return Some("said not to be sent, and done");
            }
            error.kind() != NodeErrorKind::Refused
        }
        _ => false,
    };
    (!is_true).then_some("another's answer, or none that a server gave")
}

/// No release is forgotten while its server answers. `released` are the tokens of all locks that are
/// over by now.
pub(super) fn leftovers(town: &Shared, released: &BTreeSet<Vec<u8>>, found: &mut Vec<String>) {
    let mut town = town.lock().expect("no panic");
    let left = town.locks_left();
    for (host, key, token) in left {
        if !released.contains(&token) {
            continue;
        }
        let of_token = || town.served.iter().filter(|served| served.token == token);
        // What comes out of a connection that its client has given up, comes behind the release. And
        // what a server does that was replaced, its successor never hears of.
        let is_excused = of_token().any(|served| served.is_late || served.is_in_vain);
        if is_excused {
            town.count("left behind by a lost connection or server");
            continue;
        }
        // An acquisition that hangs at a master may be served when its slot has left that master, and has come
        // back; its release went by the map.
        let is_of = |served: &&Served, kind| served.token == token && served.kind == kind;
        let mut arrivals = town.arrivals.iter();
        let came_back = arrivals.any(|(at, slot, to)| {
            let before = |served: &Served| served.at <= *at && served.host != host;
            let behind = |served: &Served| served.at >= *at && served.host == host;
            let mut all = town.served.iter();
            *slot == slot_of(&key)
                && *to == host
                && all.any(|served| is_of(&served, Kind::Release) && before(served))
                && all.any(|served| is_of(&served, Kind::Acquire) && behind(served))
        });
        if came_back {
            town.count("left behind by a slot that came back");
            continue;
        }
        let deeds: Vec<_> = of_token().map(ToString::to_string).collect();
        let key = key.escape_ascii();
        found.push(format!(
            "{key} was left on {host}, and servers did {deeds:#?}"
        ));
    }
}

/// Once the longest ttl has passed, no lock is held and no reader has an entry.
pub(super) fn all_gone(town: &Shared, found: &mut Vec<String>) {
    let left = town.lock().expect("no panic").locks_left();
    let name = |(host, key, _): &(String, Vec<u8>, _)| format!("{} on {host}", key.escape_ascii());
    let left: Vec<_> = left.iter().map(name).collect();
    if !left.is_empty() {
        found.push(format!("behind their ttl there are {left:?}"));
    }
}
