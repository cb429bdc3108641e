//! The rules about fencing tokens.

use redlock_core::quorum::majority;
use redlock_core::request::Kind;

use super::Broken;
use crate::history::{Attempt, Inner, Invariant, LeaseRecord};

impl Inner {
    /// Only readers share a token, and the later of two leases has the higher one. A lease is later if its
    /// attempt began after the other lease was returned, or if it took the other one over. Where holders
    /// `exclude` each other, a lease that is valid is later than each one before. Each node whose counter
    /// stood at the counts of both attempts must also have granted the lower one first.
    pub(super) fn check_tokens(&self, number: usize, exclude: bool, broken: &mut Broken) {
        let new = &self.leases[number];
        let Some(token) = new.token else {
            return;
        };
        let attempt = &self.attempts[new.attempt];
        let (id, is_reader) = (new.handle.token_id(), self.is_reader(new));
        // A counter stands above the token of a holder that is no reader.
        let count = attempt.count();
        if count.is_some_and(|count| token > count - u64::from(!is_reader)) {
            let text = format!("{id} has {token}, beyond its count");
            broken.push((Invariant::TokenOrder, text));
        }
        for (other, known) in self.leases.iter().enumerate() {
            let Some(other_token) = known.token else {
                continue;
            };
            if other == number || !known.meets(new) {
                continue;
            }
            let other_id = known.handle.token_id();
            let both_read = is_reader && self.is_reader(known);
            if other_token == token && both_read {
                continue;
            }
            if other_token == token {
                let text = format!("{id} and {other_id} both have {token}");
                broken.push((Invariant::TokenUnique, text));
            }
            let is_taken_over = known.attempt == new.attempt;
            let excludes = exclude && !new.was_over && !both_read;
            let is_later = is_taken_over || known.returned_at < attempt.staked_at || excludes;
            if is_later && other_token > token {
                let text = format!("{id} has {token} after {other_id} had {other_token}");
                broken.push((Invariant::TokenOrder, text));
            }
            if both_read || is_taken_over {
                // Readers hold side by side, and their numbers are raised while they do.
                continue;
            }
            let other_attempt = &self.attempts[known.attempt];
            let (Some(count), Some(other_count)) = (count, other_attempt.count()) else {
                continue;
            };
            let seats = attempt.seats.iter().zip(&other_attempt.seats);
            for (place, (one, two)) in seats.enumerate() {
                let (Some(at), Some(before)) = (one.granted, two.granted) else {
                    continue;
                };
                let stood = one.stands == Some(count) && two.stands == Some(other_count);
                if stood && (before < at) != (other_token < token) {
                    let text = format!(
                        "n{place} granted {other_id} with {other_token} and {id} with {token}, in \
                         the other order"
                    );
                    broken.push((Invariant::TokenOrder, text));
                }
            }
        }
    }

    fn is_reader(&self, lease: &LeaseRecord) -> bool {
        self.calls[lease.call].request.kind == Kind::Read
    }
}

impl Attempt {
    /// Returns the number at which the counters of a majority stood for this attempt.
    fn count(&self) -> Option<u64> {
        let stood = || self.seats.iter().filter_map(|seat| seat.stands);
        let at = |count: &u64| stood().filter(|stood| stood == count).count();
        stood().find(|count| at(count) >= majority(self.seats.len()))
    }
}
