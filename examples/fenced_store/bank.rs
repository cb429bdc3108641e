//! The application: money is taken from an account by one process at a time.

use std::fmt;
use std::io;

use redlock_runtime::{LeaseHandle, LockError, redlock};

use crate::store::{Store, StoreError};

/// What a withdrawal is about to do, told to [`Moment::before_write`].
pub(crate) struct Decided<'a> {
    pub(crate) lease: &'a LeaseHandle,
    pub(crate) read: i64,
    pub(crate) will_write: i64,
}

/// The moment between a holder's last look at its lease and its write. In an application it is short
/// and not visible. Here the example stops the holder in it.
///
/// It is no `async fn`, and that matters. At an await the body would be cancelled, since its lease
/// is over. But between two awaits a program runs as long as it runs: the operating system may take
/// the processor away anywhere, for any time, and no check is close enough to the write.
pub(crate) trait Moment {
    fn before_write(&mut self, decided: &Decided<'_>) -> io::Result<()>;
}

/// Takes `amount` from an account, and trusts the lock alone. Returns what is left.
#[redlock(resource = "account:{id}", ttl = "2s", retry_count = 100, retry_delay = 100, guard = lease)]
pub(crate) async fn withdraw(
    id: i64,
    amount: i64,
    store: &Store,
    moment: &mut impl Moment,
) -> Result<i64, WithdrawError> {
    let read = store.balance(id)?;
    let will_write = left(read, amount)?;
    moment.before_write(&Decided {
        lease,
        read,
        will_write,
    })?;
    store.set_balance(id, will_write)?;
    Ok(will_write)
}

/// The same, with the token: shown before the read, and again with the write.
#[redlock(
    resource = "account:{id}",
    ttl = "2s",
    retry_count = 100,
    retry_delay = 100,
    fencing = true,
    guard = lease
)]
pub(crate) async fn withdraw_fenced(
    id: i64,
    amount: i64,
    store: &Store,
    moment: &mut impl Moment,
) -> Result<i64, WithdrawError> {
    let token = lease.fencing_token().as_i64();
    let read = store.claim(id, token)?;
    let will_write = left(read, amount)?;
    moment.before_write(&Decided {
        lease,
        read,
        will_write,
    })?;
    store.set_balance_fenced(id, will_write, token)?;
    Ok(will_write)
}

fn left(balance: i64, amount: i64) -> Result<i64, WithdrawError> {
    let left = balance.checked_sub(amount).filter(|left| *left >= 0);
    left.ok_or(WithdrawError::NotEnough { balance })
}

/// Why nothing was withdrawn. Because a `LockError` can become one, `#[redlock]` may return it.
#[derive(Debug)]
pub(crate) enum WithdrawError {
    NotEnough { balance: i64 },
    Lock(LockError),
    Store(StoreError),
    Moment(io::Error),
}

impl From<LockError> for WithdrawError {
    fn from(error: LockError) -> Self {
        Self::Lock(error)
    }
}

impl From<StoreError> for WithdrawError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<io::Error> for WithdrawError {
    fn from(error: io::Error) -> Self {
        Self::Moment(error)
    }
}

impl fmt::Display for WithdrawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotEnough { balance } => write!(f, "there are only {balance} in the account"),
            Self::Lock(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::Moment(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for WithdrawError {}
