//! The sampler `random`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::catalogue::{Catalogue, ToolIndex};
use super::{Sample, SampleRequest, Sampler, SamplingError};
use crate::seed::Random;

/// The settings of `type: random`: tools that need not have anything to do with each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RandomSettings {
    /// The namespaces that tools are taken from; all by default.
    pub namespaces: Vec<String>,
    /// The way in which tools are divided among namespaces.
    pub mode: RandomMode,
    /// The weights of namespaces. In the modes `uniform` and `equal` the default is 1 for each; in the mode `proportional`
    /// it is the number of tools.
    pub weights: BTreeMap<String, f64>,
}

/// The division of a random sample among namespaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RandomMode {
    /// Each tool is equally likely, times the weight of its namespace.
    #[default]
    Uniform,
    /// Each namespace has its share of the tools, rounded by the largest remainder.
    Proportional,
    /// Each namespace has the same share, rounded by the largest remainder.
    Equal,
}

pub(super) struct RandomSampler {
    settings: RandomSettings,
    catalogue: Catalogue,
}

impl RandomSampler {
    pub(super) fn new(settings: RandomSettings, catalogue: &Catalogue) -> Self {
        Self { settings, catalogue: catalogue.clone() }
    }

    fn weight(&self, namespace: &str, default: f64) -> f64 {
        let weight = self.settings.weights.get(namespace).copied().unwrap_or(default);
        if weight.is_finite() { weight.max(0.0) } else { 0.0 }
    }
}

impl Sampler for RandomSampler {
    fn sample(&self, request: &SampleRequest) -> Result<Sample, SamplingError> {
        let wanted = request.namespaces.as_deref().unwrap_or(&self.settings.namespaces);
        let mut random = Random::new(request.seed);
        let namespaces: Vec<(&str, &[ToolIndex])> = self.catalogue.namespaces(wanted).collect();
        let has_weight = |namespace: &str| self.weight(namespace, 1.0) > 0.0;
        let tools =
            namespaces.iter().filter(|(name, _)| has_weight(name)).map(|(_, tools)| tools.len()).sum();
        if tools < request.count {
            return Err(SamplingError::new("the catalogue is too small", request.count, tools));
        }
        let mut chosen = match self.settings.mode {
            RandomMode::Uniform if self.settings.weights.is_empty() => {
                let all: Vec<ToolIndex> =
                    namespaces.iter().flat_map(|(_, tools)| tools.iter().copied()).collect();
                random
                    .distinct(request.count, all.len())
                    .into_iter()
                    .filter_map(|at| all.get(at).copied())
                    .collect()
            }
            RandomMode::Uniform => self.weighted(&namespaces, request.count, &mut random),
            RandomMode::Proportional | RandomMode::Equal => {
                self.divided(&namespaces, request.count, &mut random)
            }
        };
        random.shuffle(&mut chosen);
        Ok(Sample { tools: self.catalogue.entries(&chosen), ..Sample::default() })
    }
}

impl RandomSampler {
    /// Draws a namespace by its weight and its number of remaining tools, and a tool of it, again and again.
    fn weighted(
        &self,
        namespaces: &[(&str, &[ToolIndex])],
        count: usize,
        random: &mut Random,
    ) -> Vec<ToolIndex> {
        let mut left: Vec<Vec<ToolIndex>> = namespaces.iter().map(|(_, tools)| tools.to_vec()).collect();
        let mut chosen = Vec::with_capacity(count);
        while chosen.len() < count {
            #[expect(clippy::cast_precision_loss, reason = "a number of tools")]
            let weight = |((name, _), left): (&(&str, &[ToolIndex]), &Vec<ToolIndex>)| {
                self.weight(name, 1.0) * left.len() as f64
            };
            let weights: Vec<f64> = namespaces.iter().zip(&left).map(weight).collect();
            let Some(tools) = random.weighted(&weights).and_then(|at| left.get_mut(at)) else { break };
            chosen.push(tools.swap_remove(random.below(tools.len())));
        }
        chosen
    }

    /// Divides the sample among the namespaces by the method of the largest remainder.
    fn divided(
        &self,
        namespaces: &[(&str, &[ToolIndex])],
        count: usize,
        random: &mut Random,
    ) -> Vec<ToolIndex> {
        let is_equal = self.settings.mode == RandomMode::Equal;
        #[expect(clippy::cast_precision_loss, reason = "a number of tools")]
        let usual = |tools: &[ToolIndex]| if is_equal { 1.0 } else { tools.len() as f64 };
        let weight = |(name, tools): &(&str, &[ToolIndex])| self.weight(name, usual(tools));
        let weights: Vec<f64> = namespaces.iter().map(weight).collect();
        let sizes: Vec<usize> = namespaces.iter().map(|(_, tools)| tools.len()).collect();
        let mut chosen = Vec::with_capacity(count);
        for ((_, tools), share) in namespaces.iter().zip(shares(&weights, &sizes, count)) {
            let places = random.distinct(share, tools.len());
            chosen.extend(places.into_iter().filter_map(|at| tools.get(at)));
        }
        chosen
    }
}

/// Divides a number by weights with the method of the largest remainder. No share exceeds its size; what is left over
/// goes to the others, again by their weights.
fn shares(weights: &[f64], sizes: &[usize], count: usize) -> Vec<usize> {
    let mut shares = vec![0; sizes.len()];
    let mut left = count;
    while left > 0 {
        let open = |at: usize, share: usize| {
            let weight = weights.get(at).copied().unwrap_or_default();
            if sizes.get(at).is_some_and(|size| share < *size) { weight } else { 0.0 }
        };
        let weights: Vec<f64> = shares.iter().enumerate().map(|(at, share)| open(at, *share)).collect();
        let total: f64 = weights.iter().sum();
        if total <= 0.0 {
            break;
        }
        #[expect(clippy::cast_precision_loss, reason = "a number of tools")]
        let quotas: Vec<f64> = weights.iter().map(|weight| left as f64 * weight / total).collect();
        let mut order: Vec<usize> =
            (0..quotas.len()).filter(|at| weights.get(*at).is_some_and(|weight| *weight > 0.0)).collect();
        let remainder = |at: &usize| quotas.get(*at).map_or(0.0, |quota| quota.fract());
        order.sort_by(|a, b| remainder(b).total_cmp(&remainder(a)).then(a.cmp(b)));
        let mut given = 0;
        for at in &order {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count")]
            let whole = quotas.get(*at).map_or(0, |quota| quota.floor() as usize);
            given += give(&mut shares, sizes, *at, whole);
        }
        for at in order {
            if given < left {
                given += give(&mut shares, sizes, at, 1);
            }
        }
        left -= given;
    }
    shares
}

/// Raises a share up to its size; returns by how much.
fn give(shares: &mut [usize], sizes: &[usize], at: usize, amount: usize) -> usize {
    let (Some(share), Some(size)) = (shares.get_mut(at), sizes.get(at)) else { return 0 };
    let given = amount.min(size - *share);
    *share += given;
    given
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn shares_follow_the_largest_remainder_and_no_share_exceeds_its_size() {
        assert_eq!(shares(&[50.0, 30.0, 20.0], &[50, 30, 20], 10), [5, 3, 2]);
        assert_eq!(shares(&[1.0, 1.0, 1.0], &[9, 9, 9], 4), [2, 1, 1]);
        assert_eq!(shares(&[6.0, 3.0, 1.0], &[100, 100, 100], 4), [2, 1, 1]);
        assert_eq!(shares(&[6.0, 3.0, 1.0], &[1, 100, 100], 9), [1, 6, 2]);
        assert_eq!(shares(&[1.0, 0.0], &[2, 9], 5), [2, 0]);
    }
}
