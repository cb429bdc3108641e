//! Defines the names of the figures, with their units and meanings. The guide's `reference/metrics.md` has the same list.
//!
//! Names follow Prometheus (base units, `_total` for counters), as most recorders of the `metrics`
//! facade pass them on unchanged.

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

/// Defines a constant for each row: its description's function, the constant, its name, its unit, and its meaning.
macro_rules! figures {
    ($($describe:ident $name:ident $text:literal $unit:ident: $what:literal;)+) => {
        $(pub(crate) const $name: &str = $text;)+

        /// Describes all figures to the present recorder.
        pub(super) fn all() {
            $($describe!($name, Unit::$unit, $what);)+
        }
    };
}

figures! {
    describe_counter ACQUISITIONS "redlock_acquisitions_total" Count: "Acquisitions that ended, by outcome";
    describe_histogram WAIT "redlock_wait_seconds" Seconds: "How long callers waited that got their lock";
    describe_gauge WAITING "redlock_waiting" Count: "Callers that wait for their lock now";
    describe_gauge HELD "redlock_held" Count: "Leases that are held now";
    describe_histogram HOLD "redlock_hold_seconds" Seconds: "How long locks were held";
    describe_counter LOST "redlock_lost_total" Count: "Leases that were over before their holder was done";
    describe_counter EXTENSIONS "redlock_extensions_total" Count:
        "Extensions, by hand and by renewal, by outcome";
    describe_counter UNCONFIRMED "redlock_unconfirmed_releases_total" Count:
        "Releases that no majority confirmed in time; the nodes drop the keys at the ttl";
    describe_counter SWALLOWED "redlock_swallowed_errors_total" Count:
        "Errors of functions that return none (`if_locked = \"skip\"`)";
    describe_gauge LEADING "redlock_leading" Count: "Terms of elections that run now";
    describe_counter TERMS "redlock_terms_total" Count: "Terms of elections that began";
    describe_histogram TERM "redlock_term_seconds" Seconds: "How long terms of elections were";
    describe_gauge NODE_VOTING "redlock_node_voting" Count: "1 where the node votes, else 0";
    describe_gauge NODE_WITHOUT_GRANT "redlock_node_leases_without_grant" Count:
        "Leases that are held without a grant of the node that counts";
    describe_histogram NODE_LATENCY "redlock_node_latency_seconds" Seconds: "How long the node's answers take";
    describe_counter NODE_ERRORS "redlock_node_errors_total" Count:
        "Operations that the node did not serve, by reason";
    describe_counter NODE_CONNECTIONS "redlock_node_connections_total" Count:
        "Connections that were made to the node";
    describe_gauge NODE_CLOCK_OFFSET "redlock_node_clock_offset_seconds" Seconds:
        "By how much the node's clock is ahead of this host's";
}
