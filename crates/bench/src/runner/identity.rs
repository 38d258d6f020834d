//! What a benchmark asks, in words that can be compared: whether two of them ask the same.

use std::collections::BTreeMap;

use super::Options;
use super::target::OWN;
use crate::seeded::mix;
use crate::text::list;

/// The plan of `options` by name. It holds all that decides what is measured, and nothing of where results
/// go.
pub(crate) fn of(options: &Options) -> BTreeMap<String, String> {
    let plan = &options.plan;
    let names: Vec<&str> = plan.experiments.iter().map(|experiment| experiment.name.as_str()).collect();
    let delays: Vec<String> = plan.delays_ms.iter().map(f64::to_string).collect();
    let clients =
        options.clients.map_or_else(|| "of each experiment".to_owned(), |clients| clients.to_string());
    [
        ("experiments", list(&names)),
        ("sizes", sizes(options)),
        ("size", plan.size.as_str().to_owned()),
        ("rtt_ms", list(&delays)),
        ("versions", list(&plan.versions)),
        ("without_delegations", options.without_delegations.to_string()),
        ("arms", format!("{:?}", options.arms)),
        ("pairs", format!("{:?}", options.pairs)),
        ("runs", plan.runs.to_string()),
        ("same_within", plan.same_within.to_string()),
        ("clients", clients),
        ("client", options.client.to_string()),
        ("mount_options", options.mount_options.join(",")),
        ("client_namespaces", options.client_namespaces.to_string()),
        ("hosts", options.hosts.join(",")),
        ("in_guests", options.guests_reach.is_some().to_string()),
        ("guests_lock", options.guests_lock.to_string()),
        ("seed", options.seed.to_string()),
        ("v3_path", options.path_of_v3.clone().unwrap_or_default()),
        ("server", options.server.clone().unwrap_or_else(|| OWN.to_owned())),
        ("tool_version", options.tool_version.clone()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// A number that all parameters of all experiments go into: a file of one's own may have changed under the
/// same name.
fn sizes(options: &Options) -> String {
    let plan = &options.plan;
    let text: String = plan.experiments.iter().map(|one| format!("{:?}", one.setup(plan.size))).collect();
    let digest = text.bytes().fold(0, |digest, byte| mix(digest ^ u64::from(byte)).wrapping_add(1));
    format!("{digest:016x}")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::experiment::{Plan, Size};
    use crate::workload::ClientKind;

    pub(in crate::runner) fn options() -> Options {
        Options {
            plan: Plan::quick(),
            arms: Vec::new(),
            pairs: Vec::new(),
            server: None,
            path_of_v3: None,
            allow_missing_versions: false,
            serve_command: None,
            without_delegations: false,
            guests_reach: None,
            guests_lock: false,
            clients: None,
            client: ClientKind::Builtin,
            mount_options: Vec::new(),
            client_namespaces: Default::default(),
            hosts: Vec::new(),
            server_host: None,
            agent_secret: None,
            agent_command: String::new(),
            out: "here".into(),
            seed: 1,
            resume: false,
            profile: Default::default(),
            live: true,
            clean: false,
            tool_version: "0.1.0".to_owned(),
            command_line: Vec::new(),
        }
    }

    #[test]
    fn where_results_go_does_not_matter_and_everything_else_does() {
        let first = of(&options());
        let elsewhere =
            Options { out: "there".into(), live: false, command_line: vec!["x".to_owned()], ..options() };
        assert_eq!(first, of(&elsewhere));
        assert_ne!(first, of(&Options { seed: 2, ..options() }));
        let mut paper = options();
        paper.plan.size = Size::Paper;
        assert_ne!(first, of(&paper));
        let mut larger = options();
        larger.plan.experiments[0].quick.as_mut().unwrap().clients += 1;
        assert_ne!(first["sizes"], of(&larger)["sizes"]);
    }
}
