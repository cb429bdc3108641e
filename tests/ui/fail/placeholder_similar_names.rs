//! A name beside a dotted placeholder or a part: rustc would offer a similar one for the whole literal.
use redlock_runtime::{LockError, redlock};

struct Order {
    id: u64,
}

#[redlock(resource = "{titel:part}")]
async fn part(title: String) -> Result<String, LockError> {
    Ok(title)
}

#[redlock(resource = "{titel}:{order.id}")]
async fn beside_a_field(title: String, order: Order) -> Result<(String, u64), LockError> {
    Ok((title, order.id))
}

#[redlock(resource = ["{titel}:{title:part}", "{oder.id}"])]
async fn several(title: String, order: Order) -> Result<(String, u64), LockError> {
    Ok((title, order.id))
}

impl Order {
    #[redlock(resource = "{id:part}")]
    async fn field(&self, name: &str) -> Result<usize, LockError> {
        Ok(name.len())
    }
}

fn main() {
    let order = Order { id: 1 };
    let _ = (part(String::new()), beside_a_field(String::new(), Order { id: 1 }));
    let _ = (several(String::new(), Order { id: 1 }), order.field(""));
}
