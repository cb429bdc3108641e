//! The permits that an acquisition may take, in the order in which every node tries them.

use std::sync::Arc;

use crate::model::permits::{CountRecord, PermitSet};
use crate::model::token::OwnerToken;

/// The permits of a resource, in the order in which a node tries them. It is the same for all nodes of an
/// attempt, so that nodes with the same free permits grant the same ones.
#[derive(Clone, Debug)]
pub struct PermitOrder {
    keys: Vec<PermitKey>,
    take: u16,
    count_key: Arc<[u8]>,
}

/// The keys of one permit.
#[derive(Clone, Debug)]
pub struct PermitKey {
    /// The number of the permit.
    pub permit: u16,
    /// The key that the permit's holder has.
    pub key: Arc<[u8]>,
    /// The permit's fencing counter, if a fencing token is asked for.
    pub counter: Option<Arc<[u8]>>,
}

impl PermitOrder {
    /// An order of the permits `keys`. The acquisition takes `take` of them. `count_key` is the key that
    /// says how many permits the resource has.
    pub fn new(keys: Vec<PermitKey>, take: u16, count_key: Arc<[u8]>) -> Self {
        Self {
            keys,
            take,
            count_key,
        }
    }

    /// The keys, in the order in which they are tried.
    pub fn keys(&self) -> &[PermitKey] {
        &self.keys
    }

    /// The number of permits that the acquisition takes, all or none.
    pub fn take(&self) -> u16 {
        self.take
    }

    /// The number of permits of the resource.
    pub fn count(&self) -> u16 {
        u16::try_from(self.keys.len()).unwrap_or(u16::MAX)
    }

    /// The key of the record that says how many permits the resource has.
    pub fn count_key(&self) -> &[u8] {
        &self.count_key
    }

    /// The record of this number, by the process that drew `token`.
    pub fn count_record(&self, token: &OwnerToken) -> Vec<u8> {
        CountRecord::written(self.count(), token.as_bytes())
    }

    /// True if a fencing token is asked for.
    pub fn is_fenced(&self) -> bool {
        self.keys.iter().any(|key| key.counter.is_some())
    }

    /// The permits that a node grants where these are free: the first ones in the order. `None` if there
    /// are too few.
    pub fn granted_of(&self, free: &PermitSet) -> Option<PermitSet> {
        let in_order = self.keys.iter().map(|key| key.permit);
        let granted = in_order.filter(|permit| free.contains(*permit));
        let granted: PermitSet = granted.take(self.take.into()).collect();
        (granted.len() == usize::from(self.take)).then_some(granted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_free_ones_in_the_order_are_granted_all_or_none() {
        let key = |permit: u16| PermitKey {
            permit,
            key: permit.to_string().into_bytes().into(),
            counter: None,
        };
        let order = PermitOrder::new([2, 0, 3, 1].map(key).to_vec(), 2, b"n".as_slice().into());
        let granted = |free: &[u16]| {
            let granted = order.granted_of(&free.iter().copied().collect());
            granted.map(|granted| granted.to_string())
        };
        assert_eq!(granted(&[0, 1, 2, 3]).as_deref(), Some("0, 2"));
        assert_eq!(granted(&[1, 3]).as_deref(), Some("1, 3"));
        assert_eq!(granted(&[3]), None);
    }
}
