//! Which clients results are of, in words.

use std::collections::BTreeSet;

use super::Results;

/// A sentence for each client that results are of: numbers of one are never to be taken for those of another.
pub(crate) fn client_sentences(results: &Results) -> Vec<String> {
    let clients: BTreeSet<&str> = results.cells.iter().map(|cell| cell.setting.client.as_str()).collect();
    clients.into_iter().map(sentence).collect()
}

fn sentence(client: &str) -> String {
    match client {
        "builtin" => "Client builtin: the protocol client of this tool, not a kernel\u{2019}s. Requests are \
                      counted exactly, and a kernel may send others."
            .to_owned(),
        "fuse" => "Client fuse: the protocol client of this tool behind a mount, in which threads work with \
                   system calls. Requests are counted exactly, and a \
                   kernel\u{2019}s own client may send others."
            .to_owned(),
        "kernel" => "Client kernel: the NFS client of this machine\u{2019}s kernel, which counts its \
                     requests itself; the operations inside its COMPOUNDs are not told."
            .to_owned(),
        "path" => "Client path: a directory of this machine, without NFS.".to_owned(),
        other => format!("Client {other}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn every_client_is_named_once() {
        let mut results = samples::results();
        assert_eq!(client_sentences(&results).len(), 1);
        results.cells[0].setting.client = "kernel".to_owned();
        results.cells[1].setting.client = "a new one".to_owned();
        let sentences = client_sentences(&results);
        assert_eq!(sentences[0], "Client a new one.");
        assert!(sentences[1].starts_with("Client builtin: ") && sentences[2].starts_with("Client kernel: "));
    }
}
