//! What the examples have in common: the order service behind `axum_orders` and `actix_orders`, as
//! far as it has nothing to do with a framework.

mod journal;
mod orders;
mod settings;
mod summary;

pub use orders::{Orders, Receipt};
pub use settings::{SettingError, address};
pub use summary::Summary;
