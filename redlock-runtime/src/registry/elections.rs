//! The list of elections in which this process stands.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use redlock_core::Resource;
use redlock_core::env::Moment;
use redlock_core::lease::FencingToken;

use crate::site::Site;

/// An election in which this process stands, while [`run`](crate::election::Election::run) is in progress.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Candidacy {
    /// The office: the resource that the leader has locked.
    pub resource: Resource,
    /// The name of the election, and its place in the source.
    pub site: &'static Site,
    /// The text that watches show while this candidate leads.
    pub value: Option<String>,
    /// The time since the present term began. `None` if this candidate does not lead.
    pub leading_for: Option<Duration>,
    /// The fencing token of the present term.
    pub fencing_token: Option<FencingToken>,
    /// The beginning of the present term.
    pub(crate) began: Option<Moment>,
}

/// The candidacies of one registry, numbered in the order in which they began.
#[derive(Default)]
pub(crate) struct Elections(Mutex<BTreeMap<u64, Candidacy>>);

impl Elections {
    /// Adds a candidacy, and returns its number.
    pub(crate) fn enter(&self, candidacy: Candidacy) -> u64 {
        let mut candidacies = self.0.lock();
        let last = candidacies.last_key_value();
        let number = last.map_or(0, |(last, _)| last + 1);
        candidacies.insert(number, candidacy);
        number
    }

    /// Removes a candidacy from the list.
    pub(crate) fn leave(&self, number: u64) {
        self.0.lock().remove(&number);
    }

    /// Sets when a candidacy's present term began, and its fencing token. `None` ends the term.
    pub(crate) fn set_term(
        &self,
        number: u64,
        began: Option<Moment>,
        fencing_token: Option<FencingToken>,
    ) {
        if let Some(candidacy) = self.0.lock().get_mut(&number) {
            candidacy.began = began;
            candidacy.fencing_token = fencing_token;
        }
    }

    pub(crate) fn list(&self, now: Moment) -> Vec<Candidacy> {
        let mut list: Vec<_> = self.0.lock().values().cloned().collect();
        for candidacy in &mut list {
            let leading_for = candidacy.began.map(|began| now.saturating_since(began));
            candidacy.leading_for = leading_for;
        }
        list
    }
}
