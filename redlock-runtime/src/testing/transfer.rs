//! Locks that another holder gives away, or takes over.

use redlock_core::node::Answer;
use redlock_core::transfer::Ticket;

use super::hold::Hold;
use super::someone_else::SomeoneElse;

impl Hold {
    /// Gives the lock away, as [`Lease::transfer`](crate::Lease::transfer) does: the keys stay for the rest of
    /// the ttl, and the code under test may [claim](crate::Lock::claim) the lock. If there are more pools than
    /// those of the lock, have the hold [on](SomeoneElse::on) the lock's pools alone: the keys on other nodes
    /// stay until their ttl.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// let ticket = locks.hold("import").transfer();
    /// let lease = redlock_runtime::lock("import").claim(ticket).await.unwrap();
    /// # lease.release().await;
    /// # }
    /// ```
    ///
    /// # Panics
    /// For a hold that reads, writes or is a permit: such a lock is not given away.
    #[track_caller]
    pub fn transfer(mut self) -> Ticket {
        assert!(
            self.sharing.is_none() && !self.is_permit,
            "`{}` is held by a reader, a writer or as a permit, and such a lock is not given away",
            self.resource,
        );
        // Nothing is released at the drop.
        self.nodes.clear();
        Ticket::of_giver(self.token.clone(), self.resource.clone())
    }
}

impl SomeoneElse {
    /// Takes over the lock that the code under test gave away, as [`Lock::claim`](crate::Lock::claim) does.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// let lease = redlock_runtime::lock("import").acquire().await.unwrap();
    /// let ticket = lease.transfer().unwrap();
    /// let hold = locks.someone_else().named("billing-7/3121").claim(ticket);
    /// hold.release();
    /// locks.assert_free("import");
    /// # }
    /// ```
    ///
    /// # Panics
    /// If the ticket is spent: no node holds the giver's token. For a client with a [`mode`](Self::mode), and
    /// for an unknown pool.
    #[track_caller]
    pub fn claim(&self, ticket: Ticket) -> Hold {
        assert!(
            self.mode.is_none(),
            "{} claims nothing: only a lock without a mode is given away",
            self.name,
        );
        let (giver, resource) = ticket.into_giver();
        let keys = self.keys(&resource);
        let mut hold = self.nothing_yet(resource, keys);
        // The lock may be on some of them only.
        for node in self.nodes() {
            let answer = node.serve(&hold.acquisition(Some(&giver)));
            if matches!(answer, Answer::Granted { .. }) {
                hold.nodes.push(node);
            }
        }
        assert!(
            !hold.nodes.is_empty(),
            "{} cannot claim `{}`: the ticket is spent; {}",
            self.name,
            hold.resource,
            self.locks.journal(),
        );
        hold
    }
}
