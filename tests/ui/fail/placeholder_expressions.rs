//! A placeholder is no expression.
use redlock_runtime::{LockError, redlock};

struct Shop;

#[redlock(resource = "order:{x[0]}")]
async fn index(x: [u64; 2]) -> Result<u64, LockError> {
    Ok(x[0])
}

#[redlock(resource = "order:{x.len():08}")]
async fn call(x: Vec<u64>) -> Result<usize, LockError> {
    Ok(x.len())
}

impl Shop {
    const P: u64 = 1;

    #[redlock(resource = ["order:{Self::P}", "order:{usize::from(x)}"])]
    async fn constant(&self, x: u8) -> Result<u64, LockError> {
        Ok(Self::P + u64::from(x))
    }
}

fn main() {
    let _ = (index([1, 2]), call(Vec::new()), Shop.constant(1));
}
