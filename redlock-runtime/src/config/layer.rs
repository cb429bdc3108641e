//! The parameters of locks as one source has them, for all locks or for one site.

use redlock_core::{OnLost, RetryLimit};
use serde::Deserialize;

use super::site::SiteConfig;
use super::span::{Hold, Least, Span, Waiting};
use crate::parameters::{OnCancel, Parameters};

/// `[defaults]`, or one of `[sites]`; which of these keys either of them has is in `keys.rs`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Layer {
    pools: Option<Vec<String>>,
    ttl: Option<Span>,
    retry_count: Option<u32>,
    wait: Option<Waiting>,
    retry_delay: Option<Span>,
    clock_drift_factor: Option<f64>,
    min_validity: Option<Least>,
    max_hold: Option<Hold>,
    min_hold: Option<Span>,
    fencing: Option<bool>,
    on_lost: Option<LostPolicy>,
    on_cancel: Option<CancelPolicy>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LostPolicy {
    Cancel,
    Continue,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CancelPolicy {
    Release,
    Expire,
}

impl Layer {
    pub(super) fn contradicts_itself(&self) -> bool {
        self.wait.is_some() && self.retry_count.is_some()
    }

    /// What a variable says of `key`, which is one of this layer's.
    ///
    /// # Errors
    /// What is expected in the place of `value`, which is not repeated.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "pools" => self.pools = Some(names(value)),
            "ttl" => self.ttl = Some(Span::parse(value)?),
            "retry_count" => self.retry_count = Some(number(value, "3")?),
            "wait" => self.wait = Some(Waiting::parse(value)?),
            "retry_delay" => self.retry_delay = Some(Span::parse(value)?),
            "clock_drift_factor" => self.clock_drift_factor = Some(number(value, "0.01")?),
            "min_validity" => self.min_validity = Some(Least::parse(value)?),
            "max_hold" => self.max_hold = Some(Hold::parse(value)?),
            "min_hold" => self.min_hold = Some(Span::parse(value)?),
            "fencing" => self.fencing = Some(flag(value)?),
            "on_lost" => {
                let policies = [
                    ("cancel", LostPolicy::Cancel),
                    ("continue", LostPolicy::Continue),
                ];
                self.on_lost = Some(one_of(value, &policies)?);
            }
            "on_cancel" => {
                let policies = [
                    ("release", CancelPolicy::Release),
                    ("expire", CancelPolicy::Expire),
                ];
                self.on_cancel = Some(one_of(value, &policies)?);
            }
            _ => return Err("there is no such parameter".to_owned()),
        }
        Ok(())
    }

    pub(super) fn parameters(&self) -> Parameters {
        let span = |span: Option<Span>| span.map(|Span(duration)| duration);
        Parameters {
            ttl: span(self.ttl),
            limit: match (self.wait, self.retry_count) {
                (Some(Waiting(wait)), _) => Some(wait.limit()),
                (None, count) => count.map(RetryLimit::Count),
            },
            retry_delay: span(self.retry_delay),
            clock_drift_factor: self.clock_drift_factor,
            min_validity: self.min_validity.map(|Least(least)| least),
            max_hold: self.max_hold.map(|Hold(renewal)| renewal),
            min_hold: span(self.min_hold),
            fencing: self.fencing,
            on_lost: self.on_lost.map(|policy| match policy {
                LostPolicy::Cancel => OnLost::Cancel,
                LostPolicy::Continue => OnLost::Continue,
            }),
            on_cancel: self.on_cancel.map(|policy| match policy {
                CancelPolicy::Release => OnCancel::Release,
                CancelPolicy::Expire => OnCancel::Expire,
            }),
        }
    }
}

impl From<Layer> for SiteConfig {
    fn from(layer: Layer) -> Self {
        Self {
            parameters: layer.parameters(),
            pools: layer.pools,
        }
    }
}

/// `a, b,c`
pub(super) fn names(value: &str) -> Vec<String> {
    let names = value.split(',').map(|name| name.trim().to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

pub(super) fn number<N: std::str::FromStr>(text: &str, example: &str) -> Result<N, String> {
    let number = text.trim().parse();
    number.map_err(|_| format!("this is not a number such as {example}"))
}

pub(super) fn flag(value: &str) -> Result<bool, String> {
    one_of(value, &[("true", true), ("false", false)])
}

/// The choice of that name.
///
/// # Errors
/// The names that there are. What was written is not repeated: it may be a password in the wrong place.
pub(super) fn one_of<T: Copy>(value: &str, choices: &[(&str, T)]) -> Result<T, String> {
    let chosen = choices.iter().find(|(name, _)| *name == value);
    chosen.map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<String> = choices
            .iter()
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        format!("this is none of {}", names.join(", "))
    })
}
