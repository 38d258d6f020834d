//! A running network: its machines, its thread, and what can be asked of it.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::calibration::{self, Calibration};
use super::endpoint::Endpoint;
use super::engine::{Engine, Shared};
use super::options::NetworkOptions;
use super::switch::{NetworkCounters, SERVER_PORT, Switch};

/// One server, some clients, and one bottleneck between them. When it is dropped no packet moves any more;
/// the machines are gone when also nothing runs in them.
#[derive(Debug)]
pub struct Network {
    options: NetworkOptions,
    server: Endpoint,
    clients: Vec<Endpoint>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Network {
    /// Makes a network. It takes the right to make network namespaces ([`access`](super::access())).
    ///
    /// # Errors
    /// `InvalidInput` for options outside their bounds; otherwise what the kernel, or ip(8), refuses.
    pub fn start(options: NetworkOptions) -> io::Result<Self> {
        options.check()?;
        let (server, device) = Endpoint::create(SERVER_PORT, &options.tcp)?;
        let mut devices = vec![device];
        let mut clients = Vec::new();
        for port in 1..=options.clients as usize {
            let (client, device) = Endpoint::create(port, &options.tcp)?;
            clients.push(client);
            devices.push(device);
        }
        let shared = Arc::new(Shared::new(Switch::new(&options))?);
        let engine = Engine::new(devices, Arc::clone(&shared))?;
        let thread = std::thread::Builder::new().name("netlab-packets".into()).spawn(move || engine.run())?;
        Ok(Self { options, server, clients, shared, thread: Some(thread) })
    }

    /// What was asked for.
    #[must_use]
    pub fn options(&self) -> &NetworkOptions {
        &self.options
    }

    /// The machine that all clients reach.
    #[must_use]
    pub fn server(&self) -> &Endpoint {
        &self.server
    }

    /// The other machines.
    #[must_use]
    pub fn clients(&self) -> &[Endpoint] {
        &self.clients
    }

    /// What has crossed the network so far.
    #[must_use]
    pub fn counters(&self) -> NetworkCounters {
        self.shared.switch.lock().counters()
    }

    /// Measures the way between the server and every client. Nothing else may use the network meanwhile.
    ///
    /// # Errors
    /// `TimedOut` when too little arrives; what the kernel refuses.
    pub fn calibrate(&self) -> io::Result<Calibration> {
        calibration::calibrate(self)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(thread) = self.thread.take() {
            // A panic of it was printed when it happened; a destructor must not add a second one.
            let _ = thread.join();
        }
    }
}
