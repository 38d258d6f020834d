//! What tells the cells of a comparison apart: the arm, its version, and whether it may use delegations.

use super::cell::{LOCAL, version_name};

/// One side of a comparison, as documents name it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArmId {
    /// The name that the arm was given; empty where versions are compared.
    pub arm: String,
    /// "3", "4.0", "4.1" or "4.2".
    pub version: String,
    /// Whether its clients could use delegations.
    pub delegations: bool,
}

impl ArmId {
    /// Returns how the arm is shown to people: "v4.1", "v4.1 without delegations", or "new v4.1" where it has
    /// a name.
    #[must_use]
    pub fn name(&self) -> String {
        match (self.arm.as_str(), self.version.as_str()) {
            ("", version) => version_name(version, self.delegations),
            (arm, LOCAL | "") => arm.to_owned(),
            (arm, version) => format!("{arm} {}", version_name(version, self.delegations)),
        }
    }

    /// Returns what is recommended or not: an arm with a name in all its versions, else the version.
    #[must_use]
    pub(crate) fn choice(&self) -> Self {
        if self.arm.is_empty() { self.clone() } else { Self { arm: self.arm.clone(), ..Self::default() } }
    }

    /// Returns the word for a recommendation: the name of the arm, else the version.
    #[must_use]
    pub(crate) fn word(&self) -> &str {
        if self.arm.is_empty() { &self.version } else { &self.arm }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_arm_is_shown_with_its_version_and_chosen_in_all() {
        let id = |arm: &str, version: &str| ArmId {
            arm: arm.to_owned(),
            version: version.to_owned(),
            delegations: version != "3",
        };
        assert_eq!([id("", "3").name(), id("new", "4.1").name()], ["v3", "new v4.1"]);
        assert_eq!(id("disk", LOCAL).name(), "disk");
        assert_eq!(id("new", "3").choice(), id("new", "4.1").choice());
        assert_ne!(id("", "3").choice(), id("", "4.1").choice());
        assert_eq!([id("", "3").word(), id("new", "3").choice().word()], ["3", "new"]);
        assert_eq!(id("new", "3").choice().name(), "new");
    }
}
