//! The business logic of the order service.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use redlock_runtime::LeaseHandle;
use serde::Serialize;

use crate::journal::Journal;
use crate::settings::millis;

/// What may happen to an order. Clones are the same service.
#[derive(Clone, Debug)]
pub struct Orders {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    journal: Option<Journal>,
    work: Duration,
    slow_work: Duration,
}

/// What a caller gets.
#[derive(Clone, Debug, Serialize)]
pub struct Receipt {
    /// What was locked while the work was done.
    pub resource: String,
    /// For how much longer the lock would have been ours when the work was done.
    pub validity_left_ms: u64,
}

impl Orders {
    /// Reads the `ORDERS_*` variables:
    /// * `ORDERS_LOG`: the journal's file; none is written without it
    /// * `ORDERS_WORK_MS`: how long it takes to charge an order, 5 by default
    /// * `ORDERS_SLOW_MS`: how long the slow work takes, 60 000 by default
    ///
    /// # Errors
    /// Where a variable makes no sense, or the file cannot be opened.
    pub fn from_env() -> Result<Self, Box<dyn std::error::Error>> {
        let journal = match std::env::var_os("ORDERS_LOG") {
            None => None,
            Some(path) => Some(open(Path::new(&path))?),
        };
        Ok(Self::new(
            journal,
            millis("ORDERS_WORK_MS", Duration::from_millis(5))?,
            millis("ORDERS_SLOW_MS", Duration::from_secs(60))?,
        ))
    }

    fn new(journal: Option<Journal>, work: Duration, slow_work: Duration) -> Self {
        Self {
            shared: Arc::new(Shared {
                journal,
                work,
                slow_work,
            }),
        }
    }

    /// Charges an order. Whoever calls this holds the order's lock: that is what `lease` is for.
    ///
    /// # Errors
    /// Where the journal cannot be written.
    ///
    /// # Cancellation
    /// Dropping the future leaves the critical section.
    pub async fn charge(&self, lease: &LeaseHandle) -> io::Result<Receipt> {
        self.work(lease, tokio::time::sleep(self.shared.work)).await
    }

    /// The same for a job that takes much longer: something to shut down, or to hang up on.
    ///
    /// # Errors
    /// Where the journal cannot be written.
    ///
    /// # Cancellation
    /// Dropping the future leaves the critical section.
    pub async fn slow(&self, lease: &LeaseHandle) -> io::Result<Receipt> {
        self.work(lease, tokio::time::sleep(self.shared.slow_work))
            .await
    }

    /// As slow, but ends early when it is asked to: work in small steps that stops after the one at
    /// hand when the process is about to end.
    ///
    /// # Errors
    /// Where the journal cannot be written.
    ///
    /// # Cancellation
    /// Dropping the future leaves the critical section.
    pub async fn batch(&self, lease: &LeaseHandle) -> io::Result<Receipt> {
        let steps = tokio::time::timeout(self.shared.slow_work, lease.expiring());
        self.work(lease, steps).await
    }

    async fn work(&self, lease: &LeaseHandle, work: impl Future) -> io::Result<Receipt> {
        let resource = lease.resource().to_string();
        let journal = self.shared.journal.as_ref();
        let section = journal.map(|journal| journal.enter(&resource));
        let section = section.transpose()?;
        work.await;
        if let Some(section) = section {
            section.done()?;
        }
        let left = lease.validity().as_millis();
        Ok(Receipt {
            resource,
            validity_left_ms: u64::try_from(left).unwrap_or(u64::MAX),
        })
    }
}

fn open(path: &Path) -> Result<Journal, String> {
    Journal::open(path).map_err(|error| format!("ORDERS_LOG, {}: {error}", path.display()))
}
