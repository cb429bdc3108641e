//! The store: accounts in a `SQLite` file, and the rule that makes a fencing token worth something.
//!
//! *A write is taken if its token is at least the highest that the store has seen, and a holder
//! shows its token before it reads.* Each of the two statements below does its part by itself; there
//! is no transaction around them, which would be a lock of its own.

use std::fmt;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, params};

/// One process's connection.
pub(crate) struct Store(Connection);

/// Why the store did not do as it was told.
#[derive(Debug)]
pub(crate) enum StoreError {
    /// A later holder of the lock has been here.
    Fenced { token: i64, seen: i64 },
    /// The database's own. An account that does not exist is one of these.
    Sqlite(rusqlite::Error),
}

impl Store {
    /// Makes the file, with one account in it. No token has been seen.
    pub(crate) fn create(path: &Path, id: i64, balance: i64) -> Result<Self, StoreError> {
        let store = Self::open(path)?;
        store.0.execute_batch(
            "CREATE TABLE account (
                id      INTEGER PRIMARY KEY,
                balance INTEGER NOT NULL,
                fence   INTEGER NOT NULL DEFAULT 0
            ) STRICT",
        )?;
        store.0.execute(
            "INSERT INTO account (id, balance) VALUES (?1, ?2)",
            params![id, balance],
        )?;
        Ok(store)
    }

    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self(Connection::open(path)?))
    }

    pub(crate) fn balance(&self, id: i64) -> Result<i64, StoreError> {
        let sql = "SELECT balance FROM account WHERE id = ?1";
        Ok(self.0.query_row(sql, [id], |row| row.get(0))?)
    }

    /// Writes without a check of the token: the last write wins.
    pub(crate) fn set_balance(&self, id: i64, balance: i64) -> Result<(), StoreError> {
        let sql = "UPDATE account SET balance = ?2 WHERE id = ?1";
        self.0.execute(sql, params![id, balance])?;
        Ok(())
    }

    /// Shows the token, and only then reads the balance.
    ///
    /// From here on every earlier holder is refused, so that what is read stays true until we, or a
    /// later holder, write. The other way round, an earlier holder could write between our read and
    /// our write, and be overwritten by us.
    pub(crate) fn claim(&self, id: i64, token: i64) -> Result<i64, StoreError> {
        let sql = "UPDATE account SET fence = ?2 WHERE id = ?1 AND fence <= ?2 RETURNING balance";
        let claimed = self.0.query_row(sql, [id, token], |row| row.get(0));
        match claimed.optional()? {
            Some(balance) => Ok(balance),
            None => Err(self.fenced(id, token)?),
        }
    }

    /// Writes, unless a later holder has shown its token.
    ///
    /// `<=` and not `<`: the holder that has claimed may write, as often as it likes. The token is
    /// recorded here too, for writers that read nothing and so have nothing to claim.
    pub(crate) fn set_balance_fenced(
        &self,
        id: i64,
        balance: i64,
        token: i64,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE account SET balance = ?2, fence = ?3 WHERE id = ?1 AND fence <= ?3";
        match self.0.execute(sql, params![id, balance, token])? {
            0 => Err(self.fenced(id, token)?),
            _ => Ok(()),
        }
    }

    /// For the message only. The highest token can have risen meanwhile, but never fallen.
    fn fenced(&self, id: i64, token: i64) -> Result<StoreError, StoreError> {
        let sql = "SELECT fence FROM account WHERE id = ?1";
        let seen = self.0.query_row(sql, [id], |row| row.get(0))?;
        Ok(StoreError::Fenced { token, seen })
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fenced { token, seen } => {
                write!(f, "token {token} is older than {seen}, which was here")
            }
            Self::Sqlite(error) => write!(f, "the store: {error}"),
        }
    }
}

impl std::error::Error for StoreError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> Store {
        Store::create(Path::new(":memory:"), 7, 100).unwrap()
    }

    #[track_caller]
    fn assert_fenced<T>(outcome: Result<T, StoreError>, by: i64) {
        match outcome {
            Err(StoreError::Fenced { seen, .. }) => assert_eq!(seen, by),
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("an older token was taken"),
        }
    }

    #[test]
    fn the_highest_token_writes_as_often_as_it_likes() {
        let store = store();
        assert_eq!(store.claim(7, 5).unwrap(), 100);
        store.set_balance_fenced(7, 90, 5).unwrap();
        assert_eq!(store.claim(7, 5).unwrap(), 90);
        store.set_balance_fenced(7, 80, 5).unwrap();
        assert_eq!(store.balance(7).unwrap(), 80);
    }

    #[test]
    fn a_later_claim_fences_an_earlier_holder_that_has_read() {
        let store = store();
        store.claim(7, 5).unwrap();
        assert_eq!(store.claim(7, 6).unwrap(), 100);
        // The later holder has not written yet: its claim alone has to be enough.
        assert_fenced(store.set_balance_fenced(7, 70, 5), 6);
        assert_fenced(store.claim(7, 5), 6);
        store.set_balance_fenced(7, 50, 6).unwrap();
        assert_eq!(store.balance(7).unwrap(), 50);
    }

    #[test]
    fn a_write_without_a_claim_shows_its_token_too() {
        let store = store();
        store.set_balance_fenced(7, 50, 6).unwrap();
        assert_fenced(store.set_balance_fenced(7, 70, 5), 6);
        assert_eq!(store.balance(7).unwrap(), 50);
    }

    #[test]
    fn an_account_that_does_not_exist_is_not_fenced() {
        let store = store();
        for outcome in [
            store.claim(8, 5).map(drop),
            store.set_balance_fenced(8, 1, 5),
        ] {
            assert!(matches!(outcome, Err(StoreError::Sqlite(_))), "{outcome:?}");
        }
    }
}
