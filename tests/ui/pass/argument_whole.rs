//! The body takes its arguments with it whole, where that changes nothing for the function.
#![deny(warnings)]
#![allow(dead_code)]

use redlock_runtime::{LockError, redlock};

struct Order {
    id: u64,
    key: String,
    lines: Vec<String>,
}

#[redlock(resource = "order:{order.id}")]
async fn uses_a_field(order: Order) -> Result<Vec<String>, LockError> {
    Ok(order.lines)
}

#[redlock(resource = order.key)]
async fn what_the_resource_moved_is_gone(order: Order) -> Result<Vec<String>, LockError> {
    Ok(order.lines)
}

#[redlock(resource = key)]
async fn a_moved_argument_may_stay_unused(key: String, _marked: String) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", ttl = Order::ttl(order))]
async fn moved_by_another_parameter(order: Order, rest: Order) -> Result<String, LockError> {
    Ok(rest.key)
}

#[redlock(resource = "order:{id}")]
async fn patterns(Order { id, lines, .. }: Order, (_, _b): (String, String), [_, c]: [String; 2]) -> Result<String, LockError> {
    Ok(format!("{id}{lines:?}{c}"))
}

#[redlock(resource = "order")]
async fn shadowed(_order: Order, r#type: Order) -> Result<usize, LockError> {
    let Order { lines, .. } = r#type;
    let r#type = lines.len();
    Ok(r#type)
}

#[redlock(resource = "order:{key }:{o.größe}")]
async fn conditional_fields(
    Order { #[cfg(any())] absent, #[cfg(not(any()))] key, .. }: Order,
    Sized { #[cfg_attr(all(), cfg(not(any())))] größe, .. }: Sized,
    o: Sized,
) -> Result<(), LockError> {
    drop((key, größe));
    Ok(())
}

#[redlock(resource = Order { key: "a".into(), ..order }.key)]
async fn moved_behind_dots(order: Order, rest: Order) -> Result<Order, LockError> {
    Ok(Order { key: String::new(), ..rest })
}

struct Sized {
    größe: String,
}

impl Order {
    fn ttl(self) -> std::time::Duration {
        std::time::Duration::from_secs(self.id)
    }

    #[redlock(resource = "order:{self.id}")]
    async fn lines(mut self) -> Result<Vec<String>, LockError> {
        self.lines.clear();
        Ok(self.lines)
    }

    #[redlock(resource = "order:{self.id}")]
    async fn counted(self: std::rc::Rc<Self>) -> Result<u64, LockError> {
        Ok(self.id)
    }

    #[redlock(resource = self.key)]
    async fn moved_from_self(self) -> Result<Vec<String>, LockError> {
        Ok(self.lines)
    }

    #[redlock(resource = "order:{self.id}")]
    async fn boxed(self: Box<Self>) -> Result<String, LockError> {
        Ok(self.key)
    }
}

fn main() {}
