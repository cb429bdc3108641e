//! Every kind of receiver, and none.
#![deny(warnings)]
#![allow(dead_code)]

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use redlock_runtime::{LockError, redlock};

struct Account {
    id: u64,
    balance: u64,
}

impl Account {
    #[redlock(resource = "account:{self.id}")]
    async fn by_ref(&self) -> Result<u64, LockError> {
        Ok(self.balance)
    }

    #[redlock(resource = "account:{self.id}")]
    async fn by_ref_returning_ref(&self) -> Result<&u64, LockError> {
        Ok(&self.balance)
    }

    #[redlock(resource = "account:{self.id}")]
    async fn by_mut(&mut self) -> Result<&mut u64, LockError> {
        self.balance += 1;
        Ok(&mut self.balance)
    }

    #[redlock(resource = "account:{self.id}")]
    async fn by_value(self) -> Result<Self, LockError> {
        Ok(self)
    }

    #[redlock(resource = "account:{self.id}")]
    async fn by_mut_value(mut self) -> Result<Self, LockError> {
        self.balance += 1;
        Ok(self)
    }

    #[redlock(resource = "account:{self.id}")]
    async fn by_arc(self: Arc<Self>) -> Result<u64, LockError> {
        Ok(self.balance)
    }

    #[redlock(resource = "account:{self.id}")]
    async fn by_rc(self: Rc<Self>) -> Result<u64, LockError> {
        Ok(self.balance)
    }

    #[redlock(resource = "account:{self.id}")]
    async fn by_pin(self: Pin<&mut Self>) -> Result<u64, LockError> {
        Ok(self.balance)
    }

    #[redlock(resource = "account:{id}")]
    async fn associated(id: u64) -> Result<Self, LockError> {
        Ok(Self { id, balance: 0 })
    }

    #[redlock(resource = Self::key(self.id))]
    async fn by_expression(&self) -> Result<(), LockError> {
        Ok(())
    }

    fn key(id: u64) -> String {
        format!("account:{id}")
    }
}

fn main() {}
