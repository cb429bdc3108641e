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

#[redlock(resource = "a")]
mod inner {
    pub async fn f() {}
}

#[redlock(resource = "a")]
static COUNT: u8 = 1;

#[redlock(resource = "a")]
trait Job {
    fn run(&self) {}
}

fn main() {
    let account = Account::default();
    let _ = (account.id, account.f(), inner::f(), COUNT);
}
