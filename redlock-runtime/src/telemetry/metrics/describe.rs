//! Defines the names of the figures, with their units and meanings. The guide has the same list in
//! `reference/metrics.md`.
//!
//! Names follow the rules of Prometheus (base units, `_total` for counters), because most recorders of the `metrics`
//! facade pass names on unchanged.

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

/// Defines a constant for each row. A row has the function that describes the figure, the constant, its name, its unit
/// and its meaning.
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
    describe_histogram WAIT "redlock_wait_seconds" Seconds: "How long callers waited until they got their lock";
    describe_gauge WAITING "redlock_waiting" Count: "Callers that wait for a lock now";
    describe_gauge HELD "redlock_held" Count: "Leases that are held now";
    describe_histogram HOLD "redlock_hold_seconds" Seconds: "How long locks were held";
    describe_counter LOST "redlock_lost_total" Count: "Leases that ended before their holder was done";
    describe_counter EXTENSIONS "redlock_extensions_total" Count:
        "Extensions by callers and by renewal, by outcome";
    describe_counter UNCONFIRMED "redlock_unconfirmed_releases_total" Count:
        "Releases that no majority confirmed in time; the nodes drop the keys at the ttl";
    describe_counter SWALLOWED "redlock_swallowed_errors_total" Count:
        "Lock errors that the function's return type cannot carry (`if_locked = \"skip\"`)";
    describe_gauge LEADING "redlock_leading" Count: "Terms of elections in progress";
    describe_counter TERMS "redlock_terms_total" Count: "Terms of elections that have begun";
    describe_histogram TERM "redlock_term_seconds" Seconds: "How long terms of elections lasted";
    describe_gauge NODE_VOTING "redlock_node_voting" Count: "1 if the node votes, else 0";
    describe_gauge NODE_WITHOUT_GRANT "redlock_node_leases_without_grant" Count:
        "Held leases that lack a valid grant from the node";
    describe_histogram NODE_LATENCY "redlock_node_latency_seconds" Seconds: "How long each answer of the node takes";
    describe_counter NODE_ERRORS "redlock_node_errors_total" Count:
        "Operations that the node did not serve, by reason";
    describe_counter NODE_CONNECTIONS "redlock_node_connections_total" Count:
        "Connections made to the node";
    describe_gauge NODE_CLOCK_OFFSET "redlock_node_clock_offset_seconds" Seconds:
        "How far the node's clock is ahead of this host's";
}
