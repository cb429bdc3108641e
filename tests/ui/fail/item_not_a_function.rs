//! Nothing that could be run: one error at the item's keyword, and the item stays.
use redlock_runtime::redlock;

#[redlock(resource = "a")]
#[derive(Default)]
pub struct Account {
    pub id: u64,
}

#[redlock(resource = "a")]
impl Account {
    async fn f(&self) {}
}

fn main() {
    let account = Account::default();
    let _ = (account.id, account.f());
}
