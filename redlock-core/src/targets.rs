//! The targets of the library's spans and events, by which users filter them.

/// The target of the library's own panics, and the beginning of all targets.
pub const LIBRARY: &str = "redlock";

/// The target of calls for locks, until the lock or the refusal.
pub const LOCK: &str = "redlock::lock";

/// The target of leases, from the lock to the end of its release.
pub const LEASE: &str = "redlock::lease";

/// The target of nodes: connections, votes and clocks.
pub const NODE: &str = "redlock::node";

/// The target of the terms of elections.
pub const ELECTION: &str = "redlock::election";

/// The target of the configuration, as a start finds it.
pub const START: &str = "redlock::start";

/// The target of the shutdown, and of the signals that begin it.
pub const SHUTDOWN: &str = "redlock::shutdown";
