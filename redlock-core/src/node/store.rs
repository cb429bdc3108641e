//! The keys of a node in this process: what twins of scripts run over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::env::Moment;

/// Keys with texts and sorted sets, each with an expiry, and the node's clocks.
#[derive(Clone, Default)]
pub struct Store {
    keys: BTreeMap<Arc<[u8]>, Entry>,
    /// The expiry of each key, so that idle keys are removed without a scan.
    expiries: BTreeSet<(Moment, Arc<[u8]>)>,
    now: Moment,
    wall: Duration,
}
