//! Modules for examples that start processes. Each example includes this folder by its path.

pub(crate) mod server;
pub(crate) mod temp_dir;
pub(crate) mod tied;
