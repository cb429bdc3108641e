//! The names, with their units and what they count. The guide's `reference/metrics.md` has the same list.
//!
//! Names follow Prometheus (base units, `_total` for counters), as most recorders of the `metrics`
//! facade pass them on unchanged.

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

pub(crate) const ACQUISITIONS: &str = "redlock_acquisitions_total";
pub(crate) const WAIT: &str = "redlock_wait_seconds";
pub(crate) const WAITING: &str = "redlock_waiting";
pub(crate) const HELD: &str = "redlock_held";
pub(crate) const HOLD: &str = "redlock_hold_seconds";
pub(crate) const LOST: &str = "redlock_lost_total";
pub(crate) const EXTENSIONS: &str = "redlock_extensions_total";
pub(crate) const UNCONFIRMED: &str = "redlock_unconfirmed_releases_total";
pub(crate) const SWALLOWED: &str = "redlock_swallowed_errors_total";
pub(crate) const LEADING: &str = "redlock_leading";
pub(crate) const TERMS: &str = "redlock_terms_total";
pub(crate) const TERM: &str = "redlock_term_seconds";
pub(crate) const NODE_VOTING: &str = "redlock_node_voting";
pub(crate) const NODE_NOT_RESTING: &str = "redlock_node_leases_not_resting";
pub(crate) const NODE_LATENCY: &str = "redlock_node_latency_seconds";
pub(crate) const NODE_ERRORS: &str = "redlock_node_errors_total";
pub(crate) const NODE_CONNECTIONS: &str = "redlock_node_connections_total";
pub(crate) const NODE_CLOCK_OFFSET: &str = "redlock_node_clock_offset_seconds";

/// Tells the recorder of the moment.
pub(super) fn all() {
    let (count, seconds) = (Unit::Count, Unit::Seconds);
    describe_counter!(ACQUISITIONS, count, "Acquisitions that ended, by outcome");
    describe_histogram!(WAIT, seconds, "How long callers waited that got their lock");
    describe_gauge!(WAITING, count, "Callers that wait for their lock now");
    describe_gauge!(HELD, count, "Leases that are held now");
    describe_histogram!(HOLD, seconds, "How long locks were held");
    describe_counter!(
        LOST,
        count,
        "Leases that were over before their holder was done"
    );
    describe_counter!(
        EXTENSIONS,
        count,
        "Extensions, by hand and by renewal, by outcome"
    );
    describe_counter!(
        UNCONFIRMED,
        count,
        "Releases that no majority confirmed in time; the nodes drop the keys at the ttl"
    );
    describe_counter!(
        SWALLOWED,
        count,
        "Errors of functions that return none (`if_locked = \"skip\"`)"
    );
    describe_gauge!(LEADING, count, "Terms of elections that run now");
    describe_counter!(TERMS, count, "Terms of elections that began");
    describe_histogram!(TERM, seconds, "How long terms of elections were");
    describe_gauge!(NODE_VOTING, count, "1 where the node votes, else 0");
    describe_gauge!(
        NODE_NOT_RESTING,
        count,
        "Leases that are held and do not rest on the node, although they might"
    );
    describe_histogram!(NODE_LATENCY, seconds, "How long the node's answers take");
    describe_counter!(
        NODE_ERRORS,
        count,
        "Operations that the node did not serve, by reason"
    );
    describe_counter!(
        NODE_CONNECTIONS,
        count,
        "Connections that were made to the node"
    );
    describe_gauge!(
        NODE_CLOCK_OFFSET,
        seconds,
        "By how much the node's clock is ahead of this host's"
    );
}
