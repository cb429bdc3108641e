//! Placeholders whose value is not there, or not to be shown so.
use redlock_runtime::{LockError, redlock};

struct Opaque;

struct Order {
    id: Opaque,
}

mod other {
    pub struct Private {
        id: u64,
    }

    impl Private {
        pub fn new(id: u64) -> Self {
            Self { id }
        }

        pub fn id(&self) -> u64 {
            self.id
        }
    }
}

#[redlock(resource = "order:{order.id}")]
async fn no_display_of_a_field(order: Order) -> Result<Opaque, LockError> {
    Ok(order.id)
}

#[redlock(resource = "{pair.2}")]
async fn no_such_index(pair: (u8, u8)) -> Result<u8, LockError> {
    Ok(pair.0 + pair.1)
}

#[redlock(resource = "{text.len}")]
async fn method(text: String) -> Result<usize, LockError> {
    Ok(text.len())
}

#[redlock(resource = "{private.id}")]
async fn private_field(private: other::Private) -> Result<u64, LockError> {
    Ok(private.id())
}

#[redlock(resource = ["{a}", "{id:>width$}"])]
async fn several(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "{value}")]
async fn generic<T>(value: T) -> Result<T, LockError> {
    Ok(value)
}

fn main() {
    let _ = (no_display_of_a_field(Order { id: Opaque }), no_such_index((1, 2)));
    let _ = (method(String::new()), private_field(other::Private::new(1)), several(1), generic(1));
}
