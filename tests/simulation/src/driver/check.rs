//! What must not be, by what servers did and callers were told.

use std::collections::{BTreeMap, BTreeSet};

use redlock_core::node::{Answer, NodeErrorKind, Value, Vote};

use super::log::{Kind, Served, What};
use super::raw::Asked;
use super::slots::slot_of;
use super::town::Shared;

/// What servers did for one submission.
type Deeds<'a> = BTreeMap<&'a What, Vec<&'a Served>>;

/// Each submission was answered once, in time, and by its own answer.
pub(super) fn answers(town: &Shared, asked: &[Asked], longest: u64, found: &mut Vec<String>) {
    let mut town = town.lock().expect("no panic");
    let asked = || asked.iter().filter(|asked| !asked.is_dropped);
    for asked in asked() {
        town.count(match &asked.answer {
            Some((
                _,
                Vote::Granted {
                    choice: Some(_), ..
                },
            )) => "permits granted",
            Some((_, Vote::Granted { .. })) => "granted",
            Some((_, Vote::Held(_))) => "held by another",
            Some((_, Vote::Failed(error))) if error.was_sent() => "failed when it was sent",
            Some((_, Vote::Failed(_))) => "failed before it was sent",
            _ => "absent",
        });
    }
    let mut deeds: Deeds<'_> = BTreeMap::new();
    for served in &town.served {
        deeds.entry(&served.what).or_default().push(served);
    }
    for asked in asked() {
        let deeds = deeds.get(&asked.what).map_or(&[][..], Vec::as_slice);
        if let Some(problem) = problem(asked, deeds, longest) {
            let deeds: Vec<_> = deeds.iter().map(ToString::to_string).collect();
            found.push(format!("{problem}: {asked:?}, and servers did {deeds:#?}"));
        }
    }
}

/// The vote of a server with the reply `did`, in the epoch of `vote`.
fn voted(asked: &Asked, did: &Value, vote: &Vote) -> Vote {
    let epoch = match vote {
        Vote::Granted { epoch, .. } => *epoch,
        _ => 0,
    };
    let value = did.clone();
    asked.call.vote(Answer::Reply { value, epoch })
}

fn problem(asked: &Asked, deeds: &[&Served], longest: u64) -> Option<&'static str> {
    let Some((at, vote)) = &asked.answer else {
        return Some("never answered");
    };
    let at = *at;
    if at > asked.since + longest {
        return Some("answered too late");
    }
    if let Vote::Failed(error) = vote {
        let text = error.to_string();
        if text == "the node went away" || text == "the node's driver has ended" {
            return Some("nobody answered it");
        }
        // A release may be owed, and served when there is a connection again.
        let is_done =
            |served: &&Served| matches!(voted(asked, &served.did, vote), Vote::Granted { .. });
        let is_release = asked.what.kind == Kind::Release;
        if !error.was_sent() && !is_release && deeds.iter().any(is_done) {
            return Some("said not to be sent, and done");
        }
        return (error.kind() == NodeErrorKind::Refused).then_some("refused");
    }
    let mut known = deeds
        .iter()
        .filter(|it| (asked.since..=at).contains(&it.at));
    let is_true = known.any(|served| voted(asked, &served.did, vote) == *vote);
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
        let of_token = || {
            town.served
                .iter()
                .filter(|served| served.what.token == token)
        };
        // What comes out of a connection that its client has given up, comes behind the release. And
        // what a server does that was replaced, its successor never hears of.
        let is_excused = of_token().any(|served| served.is_late || served.is_in_vain);
        if is_excused {
            town.count("left behind by a lost connection or server");
            continue;
        }
        // An acquisition that hangs at a master may be served when its slot has left that master, and has come
        // back; its release went by the map.
        let is_of = |served: &&Served, kind| served.what.token == token && served.what.kind == kind;
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
