//! What is compared: a version, with or without delegations.

use crate::results::{LOCAL, version_name};
use crate::workload::Habits;

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arm {
    /// "3", "4.0", "4.1" or "4.2".
    pub(crate) version: String,
    /// Whether its clients may use delegations.
    pub(crate) delegations: bool,
}

impl Arm {
    /// What its clients may do of their own accord.
    pub(crate) fn habits(&self) -> Habits {
        Habits { delegations: self.delegations, readahead: true, data_cache: true }
    }

    /// How it is shown to people.
    pub(crate) fn name(&self) -> String {
        version_name(&self.version, self.delegations)
    }
}

/// One arm for each version, and with `without_delegations` a second one for each that has them.
pub(crate) fn arms(versions: &[String], without_delegations: bool) -> Vec<Arm> {
    let arm = |version: &String, delegations| Arm { version: version.clone(), delegations };
    versions
        .iter()
        .flat_map(|version| {
            let delegates = version != "3" && version != LOCAL;
            let second = (delegates && without_delegations).then(|| arm(version, false));
            std::iter::once(arm(version, delegates)).chain(second)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(versions: &[&str], without_delegations: bool) -> Vec<String> {
        let versions: Vec<String> = versions.iter().map(|version| (*version).to_owned()).collect();
        arms(&versions, without_delegations).iter().map(Arm::name).collect()
    }

    #[test]
    fn version_3_has_no_delegations_to_switch_off() {
        assert_eq!(names(&["3", "4.1"], false), ["v3", "v4.1"]);
        assert_eq!(names(&["3", "4.1"], true), ["v3", "v4.1", "v4.1 without delegations"]);
    }
}
