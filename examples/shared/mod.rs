//! What examples that start processes have in common. Each includes this folder by its path.

pub(crate) mod server;
pub(crate) mod temp_dir;
pub(crate) mod tied;
