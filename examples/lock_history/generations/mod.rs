//! The lock's generations, the oldest first. Each file is one way to lock, as it was or is written.

mod del_in_finally;
mod lua_setnx;
mod ours;
mod set_nx_px;
mod setnx_expire;
mod setnx_getset;
mod timestamp;
mod unique;

use crate::call::{Call, Ended, Stop};
use crate::servers::Layout;

/// One generation: an implementation, on the servers that it is used with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    SetnxExpire,
    SetnxGetset,
    SetNxPx,
    DelInFinally,
    LuaSetnx,
    Timestamp,
    Unique,
    UniqueReplicated,
    Unchecked,
    Redlock,
    Fenced,
}

impl Generation {
    pub(crate) const ALL: [Self; 11] = [
        Self::SetnxExpire,
        Self::SetnxGetset,
        Self::SetNxPx,
        Self::DelInFinally,
        Self::LuaSetnx,
        Self::Timestamp,
        Self::Unique,
        Self::UniqueReplicated,
        Self::Unchecked,
        Self::Redlock,
        Self::Fenced,
    ];

    /// What the table calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::SetnxExpire => "`SETNX`, then `EXPIRE`",
            Self::SetnxGetset => "`SETNX` and `GETSET` of timestamps",
            Self::SetNxPx => "`SET NX PX`, then `DEL`",
            Self::DelInFinally => "the same, `DEL` in `finally`",
            Self::LuaSetnx => "`SETNX` and `EXPIRE` in a script",
            Self::Timestamp => "a timestamp as the value",
            Self::Unique => "a unique value, compare and delete",
            Self::UniqueReplicated => "the same with a replica",
            Self::Unchecked => "Redlock without a restart check",
            Self::Redlock => "Redlock",
            Self::Fenced => "Redlock with fencing",
        }
    }

    /// Its name in the command line of a caller's process.
    pub(crate) fn argument(self) -> String {
        format!("{self:?}")
    }

    pub(crate) fn from_argument(argument: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.argument() == argument)
    }

    pub(crate) fn layout(self) -> Layout {
        match self {
            Self::UniqueReplicated => Layout::Replicated,
            Self::Unchecked | Self::Redlock | Self::Fenced => Layout::Three,
            _ => Layout::Single,
        }
    }

    /// The setting `restart_check` of a caller that uses this library.
    pub(crate) fn restart_check(self) -> &'static str {
        if self == Self::Unchecked {
            "off"
        } else {
            "standard"
        }
    }

    /// One attempt to lock, and the body under the lock if the attempt won.
    pub(crate) async fn run(self, call: &mut Call) -> Result<Ended, Stop> {
        match self {
            Self::SetnxExpire => setnx_expire::run(call).await,
            Self::SetnxGetset => setnx_getset::run(call).await,
            Self::SetNxPx => set_nx_px::run(call).await,
            Self::DelInFinally => del_in_finally::run(call).await,
            Self::LuaSetnx => lua_setnx::run(call).await,
            Self::Timestamp => timestamp::run(call).await,
            Self::Unique | Self::UniqueReplicated => unique::run(call).await,
            Self::Unchecked | Self::Redlock => ours::run(call, false).await,
            Self::Fenced => ours::run(call, true).await,
        }
    }
}
