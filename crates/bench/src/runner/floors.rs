//! The fewest requests for each cell, from what its experiment does and what was agreed with the server.

use client::Url;

use super::Options;
use super::check::points;
use crate::explain::{Terms, floors};
use crate::results::{ArmId, Cell, Environment, Floors, Setting, labelled};
use crate::workload::ClientKind;

/// The option of a mount that gives up what the floors take for granted: that an open asks the server.
const NO_CLOSE_TO_OPEN: &str = "nocto";

/// Gives every cell its floors, where there are any.
pub(crate) fn set(cells: &mut [Cell], environment: &Environment, options: &Options) {
    for cell in cells {
        cell.floors = of(cell, environment, options);
    }
}

/// None also for a phase of a workload with several: its cell has a level that the experiment does not vary.
fn of(cell: &Cell, environment: &Environment, options: &Options) -> Option<Floors> {
    let setting = &cell.setting;
    let experiment = options.plan.experiments.iter().find(|one| one.name == setting.experiment)?;
    let point = points(experiment, options).into_iter().find(|point| point.levels == setting.levels)?;
    let agreed = environment.negotiated.get(&negotiation_key(&setting.arm_id()))?;
    if agreed.contains_key(NO_CLOSE_TO_OPEN) {
        return None;
    }
    let transfer = |name: &str| agreed.get(name)?.parse().ok().filter(|bytes| *bytes > 0);
    let terms = Terms {
        version: &setting.version,
        delegations: setting.delegations,
        client: &setting.client,
        rsize: transfer("rsize")?,
        wsize: transfer("wsize")?,
        counts_locks: counts_locks(setting),
    };
    floors(&point.setup, &terms)
}

/// Over NFSv3, locks may stay with the client, and a kernel does not count its requests to the lock manager.
/// Guests have no floors, as the runner does not learn what their kernels agree on with the server.
fn counts_locks(setting: &Setting) -> bool {
    let stay_here = || {
        let address = setting.server.parse::<Url>();
        address.is_ok_and(|address| address.options().local_locks)
    };
    setting.version != "3" || setting.client != ClientKind::Kernel.as_str() && !stay_here()
}

/// Returns the key of what an arm has agreed on with its server, among [`Environment::negotiated`].
pub(crate) fn negotiation_key(arm: &ArmId) -> String {
    labelled(arm.version.clone(), &arm.arm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Plan, find};
    use crate::runner::identity::tests::options;
    use crate::samples;

    /// The sample's cells of `experiment` at the first delay, over v3 and v4.1, with the floors that
    /// `options` give them.
    fn floors_of(experiment: &str, options: &Options, environment: &Environment) -> Vec<Option<Floors>> {
        let mut cells = samples::results().cells;
        cells.retain(|cell| cell.setting.experiment == experiment && cell.setting.rtt_ms == 0.0);
        cells.iter_mut().for_each(|cell| cell.floors = None);
        set(&mut cells, environment, options);
        cells.iter().map(|cell| cell.floors).collect()
    }

    #[test]
    fn a_cell_gets_the_floors_of_its_experiment_and_of_what_was_agreed() {
        let environment = samples::results().environment;
        let own = Options { plan: Plan::standard(), ..options() };
        let floors = floors_of("sequential-read", &own, &environment);
        assert_eq!(floors, [Some(Floors { posix: 1.0, compound: 0.0625 }); 2]);
        assert_eq!(floors_of("random-read", &own, &environment), [None; 2]);
        let other =
            Options { plan: Plan { experiments: vec![find("create").unwrap()], ..Plan::standard() }, ..own };
        assert_eq!(floors_of("sequential-read", &other, &environment), [None; 2], "nothing is known of it");
    }

    #[test]
    fn feature_that_was_not_negotiated_leaves_no_floor() {
        let own = Options { plan: Plan::standard(), ..options() };
        let with = |name: &str, value: &str| {
            let mut environment = samples::results().environment;
            environment.negotiated.get_mut("3").unwrap().insert(name.to_owned(), value.to_owned());
            floors_of("locked-read", &own, &environment)[0]
        };
        assert!(with("rsize", "65536").is_some());
        for (name, value) in [("rsize", "0"), ("wsize", "many"), ("nocto", "yes")] {
            assert_eq!(with(name, value), None, "{name}={value}");
        }
    }

    #[test]
    fn locks_that_stay_with_the_client_have_no_floor_over_v3() {
        let environment = samples::results().environment;
        let own = Options { plan: Plan::standard(), ..options() };
        let with = |server: &str, client: &str| {
            let mut cells = samples::results().cells;
            cells.retain(|cell| cell.setting.experiment == "locked-read" && cell.setting.rtt_ms == 0.0);
            for cell in &mut cells {
                (cell.setting.server, cell.setting.client) = (server.to_owned(), client.to_owned());
            }
            set(&mut cells, &environment, &own);
            cells.iter().map(|cell| cell.floors.is_some()).collect::<Vec<_>>()
        };
        assert_eq!(with("nfs://host/", "builtin"), [true, true]);
        assert_eq!(with("nfs://host/?nolock", "builtin"), [false, true]);
        assert_eq!(with("nfs://host/", "kernel"), [false, true]);
    }
}
