//! Values that are read when the program starts, and that only a call has.
use redlock_runtime::{LockError, redlock};

struct Shop {
    pools: &'static [&'static str],
}

impl Shop {
    const NAME: &'static str = "shop";

    #[redlock(resource = "a", pools = self.pools, name = Self::NAME)]
    async fn of_self(&self) -> Result<(), LockError> {
        Ok(())
    }
}

#[redlock(resource = "a", pools = ["a", shop.pools[0]], name = concat!("a", shop))]
async fn of_a_parameter(shop: Shop) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", pools = [a, "b"], name = charge)]
async fn without_quotes() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", pools = pools, name = format!("a"))]
async fn at_run_time(pools: &[&str]) -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let shop = Shop { pools: &["a"] };
    let _ = (shop.of_self(), without_quotes(), at_run_time(shop.pools), Shop::NAME);
    let _ = of_a_parameter(Shop { pools: &[] });
}
