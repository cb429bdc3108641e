//! The targets of the library's spans and events, by which users filter them.

/// The library's own panics, and the beginning of all targets.
pub const LIBRARY: &str = "redlock";

/// The calls for locks, from the first attempt to the lock or the refusal.
pub const LOCK: &str = "redlock::lock";

/// The leases, from the lock to the end of its release.
pub const LEASE: &str = "redlock::lease";

/// The nodes: connections, votes, clocks.
pub const NODE: &str = "redlock::node";

/// The terms of elections.
pub const ELECTION: &str = "redlock::election";

/// The configuration, as a start finds it.
pub const START: &str = "redlock::start";

/// The shutdown, and the signals that begin it.
pub const SHUTDOWN: &str = "redlock::shutdown";
