//! A shutdown's report for a terminal.

use std::fmt;

use redlock_runtime::registry::{HeldLease, ShutdownReport};

/// Prints a [`ShutdownReport`]: its own line, then a line for each lease.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary<'a>(pub(crate) &'a ShutdownReport);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(report) = self;
        let groups = [
            ("finished", &report.finished),
            ("cancelled", &report.cancelled),
            ("released", &report.released),
            ("stuck", &report.stuck),
        ];
        write!(f, "shutdown: {report}")?;
        for (what, leases) in groups {
            for lease in leases {
                write!(f, "\n  {what:<11} {}", Line(lease))?;
            }
        }
        Ok(())
    }
}

struct Line<'a>(&'a HeldLease);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HeldLease { resource, site, .. } = self.0;
        write!(f, "{:<12} {}", resource.to_string(), site.name())
    }
}
