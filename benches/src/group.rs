//! A group of cases that belong together in the results.

/// A group of cases: one set of result files, one section of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Pairs on distinct keys.
    Uncontended,
    /// One node hangs.
    Frozen,
    /// Tasks of one process want the same key.
    HotKey,
    /// Tasks of two processes want the same key.
    HotKeyProcesses,
    /// How long a released key takes to reach the other process.
    HandOver,
    /// What each of four processes gets of a key that all want.
    Shares,
    /// What each of several processes gets of a few permits that all want.
    Permits,
    /// What a pair of each kind of lock takes.
    Kinds,
    /// A writer among readers.
    KindsWriter,
    /// Beside other systems.
    Peers,
    /// What the attribute costs.
    Wrapper,
    /// Leases that renew themselves.
    Renewal,
    /// What annotated functions take to compile.
    CompileTime,
    /// Which retry delay serves `rslock` best.
    Tuning,
}

impl Group {
    /// All, in the order of the tables.
    pub const ALL: [Self; 14] = [
        Self::Uncontended,
        Self::Frozen,
        Self::HotKey,
        Self::HotKeyProcesses,
        Self::HandOver,
        Self::Shares,
        Self::Permits,
        Self::Kinds,
        Self::KindsWriter,
        Self::Peers,
        Self::Wrapper,
        Self::Renewal,
        Self::CompileTime,
        Self::Tuning,
    ];

    /// How its files are called, and what a filter on the command line looks at.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uncontended => "uncontended",
            Self::Frozen => "frozen",
            Self::HotKey => "hot-key",
            Self::HotKeyProcesses => "hot-key-processes",
            Self::HandOver => "hand-over",
            Self::Shares => "shares",
            Self::Permits => "permits",
            Self::Kinds => "kinds",
            Self::KindsWriter => "kinds-writer",
            Self::Peers => "peers",
            Self::Wrapper => "wrapper",
            Self::Renewal => "renewal",
            Self::CompileTime => "compile-time",
            Self::Tuning => "tuning",
        }
    }

    /// The heading of its tables.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Uncontended => "Lock and release on distinct keys, 3 nodes",
            Self::Frozen => "One of 5 nodes hangs (SIGSTOP)",
            Self::HotKey => "One hot key, 64 tasks in one process, 3 nodes",
            Self::HotKeyProcesses => "One hot key, 2 processes of 32 tasks, 3 nodes",
            Self::HandOver => "One key held for 20 ms, 2 processes of one task, 3 nodes",
            Self::Shares => "One hot key, 4 processes, 3 nodes",
            Self::Permits => "Permits among processes, 3 nodes",
            Self::Kinds => "Lock and release of each kind, one caller",
            Self::KindsWriter => "A writer among readers from 2 processes, 3 nodes",
            Self::Peers => "Beside other systems",
            Self::Wrapper => "A call under a lock on in-process nodes",
            Self::Renewal => "Leases that renew themselves, 3 nodes",
            Self::CompileTime => "What 300 functions take to compile",
            Self::Tuning => "Which retry delay serves rslock best, 3 nodes",
        }
    }
}
