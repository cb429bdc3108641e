//! What was moved is named, and so is what is not mutable.
use redlock_runtime::{LockError, redlock};

struct Order {
    key: String,
    lines: Vec<String>,
}

#[redlock(resource = "{name}")]
async fn argument(name: String) -> Result<String, LockError> {
    drop(name);
    Ok(name)
}

#[redlock(resource = "a")]
async fn in_a_loop(order: Order) -> Result<(), LockError> {
    for _ in 0..2 {
        drop(order.lines);
    }
    Ok(())
}

#[redlock(resource = order.key)]
async fn by_the_resource(order: Order) -> Result<Order, LockError> {
    Ok(order)
}

#[redlock(resource = "a", ttl = order.ttl())]
async fn by_another_parameter(order: Order) -> Result<Vec<String>, LockError> {
    Ok(order.lines)
}

#[redlock(resource = "a", guard = lease)]
async fn the_lease() -> Result<(), LockError> {
    lease.release().await;
    Ok(())
}

#[redlock(resource = "a")]
async fn not_mutable(order: Order, count: &u64) -> Result<(), LockError> {
    order.lines.clear();
    *count += 1;
    Ok(())
}

impl Order {
    fn ttl(self) -> std::time::Duration {
        std::time::Duration::from_secs(self.key.len() as u64)
    }

    #[redlock(resource = "{self.key}")]
    async fn receiver(self) -> Result<Self, LockError> {
        let Self { lines, .. } = self;
        drop(lines);
        Ok(self)
    }

    #[redlock(resource = "{self.key}")]
    async fn behind_a_reference(&self) -> Result<Vec<String>, LockError> {
        Ok(self.lines)
    }
}

fn order() -> Order {
    Order { key: String::new(), lines: Vec::new() }
}

fn main() {
    let _ = (argument(String::new()), in_a_loop(order()), by_the_resource(order()), by_another_parameter(order()));
    let _ = (the_lease(), not_mutable(order(), &1), order().receiver(), order().behind_a_reference());
}
