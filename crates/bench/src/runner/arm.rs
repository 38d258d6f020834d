//! What is compared: versions of one server, or arms of any servers and clients.

use super::Options;
use super::arm_spec::{ArmSpec, Target};
use crate::results::{ArmId, LOCAL};
use crate::workload::{ClientKind, Habits};

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arm {
    /// Its name, version and delegations, as results have them.
    pub(crate) id: ArmId,
    /// The index of its server among [`Arms::servers`].
    pub(crate) server: usize,
    /// The index of its client among [`Arms::clients`].
    pub(crate) client: usize,
    /// The names of the arms that it is compared with; empty for the first.
    pub(crate) against: Vec<String>,
    /// The share by which its values are made worse on purpose.
    pub(crate) planted: f64,
}

impl Arm {
    /// Returns the arm of a version, on the first server and by the first kind of client.
    pub(crate) fn of_version(version: &str, delegations: bool) -> Self {
        let id = ArmId { arm: String::new(), version: version.to_owned(), delegations };
        Self { id, server: 0, client: 0, against: Vec::new(), planted: 0.0 }
    }

    /// What its clients may do of their own accord.
    pub(crate) fn habits(&self) -> Habits {
        Habits { delegations: self.id.delegations, readahead: true, data_cache: true }
    }

    /// How it is shown to people.
    pub(crate) fn name(&self) -> String {
        self.id.name()
    }

    /// Its version.
    pub(crate) fn version(&self) -> &str {
        &self.id.version
    }
}

/// A kind of client with the options of its mounts.
pub(crate) type ClientSpec = (ClientKind, Vec<String>);

/// All arms, with the servers and clients that they share.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arms {
    /// In the order of the plan.
    pub(crate) arms: Vec<Arm>,
    /// Each once.
    pub(crate) servers: Vec<Target>,
    /// Each once.
    pub(crate) clients: Vec<ClientSpec>,
}

impl Arms {
    /// Returns the arms of `options`: those that were named, or one for each version.
    pub(crate) fn of(options: &Options) -> Self {
        let client = (options.client.clone(), options.mount_options.clone());
        if options.arms.is_empty() {
            let server = match (&options.client, &options.server) {
                (ClientKind::Path(directory), _) => Target::Directory(directory.clone()),
                (_, Some(url)) => Target::Url(url.clone()),
                (_, None) => Target::Own { command: None, flags: Vec::new(), query: String::new() },
            };
            let arms = of_versions(&options.plan.versions, options.without_delegations);
            return Self { arms, servers: vec![server], clients: vec![client] };
        }
        let mut all = Self { arms: Vec::new(), servers: Vec::new(), clients: Vec::new() };
        for spec in &options.arms {
            all.add(spec, options, &client);
        }
        all
    }

    fn add(&mut self, spec: &ArmSpec, options: &Options, client: &ClientSpec) {
        let server = index_of(&mut self.servers, spec.target.clone());
        let kind = match &spec.target {
            Target::Directory(directory) => ClientKind::Path(directory.clone()),
            _ => spec.client.clone().unwrap_or_else(|| client.0.clone()),
        };
        let mounts = [&client.1[..], &spec.mount_options[..]].concat();
        let local = [LOCAL.to_owned()];
        let versions: &[String] = match &spec.version {
            _ if matches!(kind, ClientKind::Path(_)) => &local,
            Some(version) => std::slice::from_ref(version),
            None => &options.plan.versions,
        };
        let client = index_of(&mut self.clients, (kind, mounts));
        let against: Vec<String> = options
            .pairs
            .iter()
            .filter(|(candidate, _)| *candidate == spec.name)
            .map(|(_, baseline)| baseline.clone())
            .collect();
        // Where pairs were asked for, an arm without one is compared with itself alone, so with none.
        let against =
            if against.is_empty() && !options.pairs.is_empty() { vec![spec.name.clone()] } else { against };
        self.arms.extend(versions.iter().map(|version| Arm {
            id: ArmId {
                arm: spec.name.clone(),
                version: version.clone(),
                delegations: spec.delegations && delegates(version),
            },
            server,
            client,
            against: against.clone(),
            planted: spec.planted,
        }));
    }
}

/// Returns the index of `item`, which is added when it is not there.
fn index_of<T: PartialEq>(items: &mut Vec<T>, item: T) -> usize {
    items.iter().position(|known| *known == item).unwrap_or_else(|| {
        items.push(item);
        items.len() - 1
    })
}

/// Whether a version has delegations.
fn delegates(version: &str) -> bool {
    version != "3" && version != LOCAL
}

/// Returns one arm for each version, and with `without_delegations` a second one for each that has them.
fn of_versions(versions: &[String], without_delegations: bool) -> Vec<Arm> {
    versions
        .iter()
        .flat_map(|version| {
            let delegates = delegates(version);
            let second = (delegates && without_delegations).then(|| Arm::of_version(version, false));
            std::iter::once(Arm::of_version(version, delegates)).chain(second)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::identity::tests::options;
    use super::*;

    fn names(versions: &[&str], without_delegations: bool) -> Vec<String> {
        let versions: Vec<String> = versions.iter().map(|version| (*version).to_owned()).collect();
        of_versions(&versions, without_delegations).iter().map(Arm::name).collect()
    }

    fn arms(specs: &[&str], pairs: &[(&str, &str)]) -> Arms {
        let own = |(candidate, baseline): &(&str, &str)| ((*candidate).to_owned(), (*baseline).to_owned());
        Arms::of(&Options {
            arms: specs.iter().map(|spec| spec.parse().unwrap()).collect(),
            pairs: pairs.iter().map(own).collect(),
            ..options()
        })
    }

    #[test]
    fn version_3_has_no_delegations_to_switch_off() {
        assert_eq!(names(&["3", "4.1"], false), ["v3", "v4.1"]);
        assert_eq!(names(&["3", "4.1"], true), ["v3", "v4.1", "v4.1 without delegations"]);
    }

    #[test]
    fn arms_share_servers_and_clients_that_are_the_same() {
        let all = arms(
            &["a=nfs://h/x?version=3", "b=nfs://h/x?version=4.1&delegations=off", "c=builtin", "d=local"],
            &[],
        );
        let names: Vec<String> = all.arms.iter().map(Arm::name).collect();
        assert_eq!(names, ["a v3", "b v4.1 without delegations", "c v3", "c v4.1", "d"]);
        let servers: Vec<usize> = all.arms.iter().map(|arm| arm.server).collect();
        assert_eq!((servers, all.servers.len()), (vec![0, 0, 1, 1, 2], 3));
        let clients: Vec<usize> = all.arms.iter().map(|arm| arm.client).collect();
        assert_eq!((clients, all.clients.len()), (vec![0, 0, 0, 0, 1], 2));
    }

    #[test]
    fn arm_without_a_pair_is_compared_with_none_where_pairs_were_asked_for() {
        let all = arms(&["a=local", "b=local", "c=builtin?version=3"], &[("c", "b"), ("c", "a")]);
        let against: Vec<&[String]> = all.arms.iter().map(|arm| &arm.against[..]).collect();
        assert_eq!(against, [&["a"][..], &["b"], &["b", "a"]]);
        assert!(arms(&["a=local", "c=builtin"], &[]).arms.iter().all(|arm| arm.against.is_empty()));
    }
}
