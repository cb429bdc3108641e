//! The order service of the examples `axum_orders` and `actix_orders`, without the parts that depend on a framework.

mod journal;
mod orders;
mod settings;
mod summary;

pub use orders::{Orders, Receipt};
pub use settings::{SettingError, address};
pub use summary::Summary;
