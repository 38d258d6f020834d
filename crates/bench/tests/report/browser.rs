//! A browser that shows one page, driven over its debugging pipe.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

/// Far longer than a browser needs; only so that one that hangs does not hang the tests.
const BROWSER_PATIENCE: Duration = Duration::from_secs(120);

/// Hands the debugging pipe, which has fixed descriptors, over as standard input and output.
const WITH_PIPE: &str = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";

/// When the script of the page has drawn its figures.
const DRAWN: &str = "new Promise((resolve) => { const look = () => \
                     document.documentElement?.dataset.drawn ? resolve(true) : setTimeout(look, 20); look(); \
                     })";

/// What a page is shown on.
#[derive(Clone, Copy)]
pub(crate) struct Screen {
    pub(crate) width: u32,
    pub(crate) is_dark: bool,
}

pub(crate) const DESKTOP: Screen = Screen { width: 1280, is_dark: false };
pub(crate) const DARK_DESKTOP: Screen = Screen { width: 1280, is_dark: true };
pub(crate) const PHONE: Screen = Screen { width: 390, is_dark: false };

/// The browser, where there is one.
pub(crate) fn find() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path)
            .flat_map(|directory| names.map(|name| directory.join(name)))
            .find(|candidate| candidate.is_file())
    });
    if found.is_none() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "CI needs Chromium for the report's tests");
        // Past the test harness, which keeps what passing tests print to itself.
        std::io::stderr().write_all(b"skipped: Chromium is not installed\n").unwrap();
    }
    found
}

/// A page that is shown. The browser ends with it.
pub(crate) struct Page {
    child: Child,
    requests: ChildStdin,
    messages: Receiver<Value>,
    session: Option<String>,
    last_id: u64,
    /// Whatever the console was told.
    pub(crate) console: Vec<String>,
    _directory: tempfile::TempDir,
    /// One at a time: a browser is a dozen processes, which wait for each other.
    _turn: MutexGuard<'static, ()>,
}

impl Page {
    /// Shows `html` on `screen` and waits for its figures.
    pub(crate) fn open(browser: &Path, html: &str, screen: Screen) -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("report.html");
        std::fs::write(&file, html).unwrap();
        let mut child = launch(browser, &directory.path().join("profile"));
        let requests = child.stdin.take().unwrap();
        let messages = messages(child.stdout.take().unwrap());
        let console = Vec::new();
        let mut page = Self {
            child,
            requests,
            messages,
            session: None,
            last_id: 0,
            console,
            _directory: directory,
            _turn: turn,
        };
        let target = page.ask("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = page.ask("Target.attachToTarget", &attach);
        page.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            page.ask(domain, &json!({}));
        }
        page.put_on(screen);
        page.ask("Page.navigate", &json!({ "url": format!("file://{}", file.display()) }));
        page.evaluate(DRAWN);
        page
    }

    fn put_on(&mut self, screen: Screen) {
        let Screen { width, is_dark } = screen;
        let metrics = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.ask("Emulation.setDeviceMetricsOverride", &metrics);
        self.show_as("", is_dark);
    }

    /// The page as it is for `media`, "screen" or "print", to one who prefers dark or light pages.
    pub(crate) fn show_as(&mut self, media: &str, is_dark: bool) {
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.ask("Emulation.setEmulatedMedia", &json!({ "media": media, "features": features }));
    }

    /// What `expression` comes to in the page, after what it promises.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.ask("Runtime.evaluate", &asked);
        assert!(answer.get("exceptionDetails").is_none(), "{answer:#}");
        answer["result"]["value"].clone()
    }

    /// The page's elements without the code that drew them, which must not be mistaken for a drawing.
    pub(crate) fn dom(&mut self) -> String {
        let dom = self.evaluate("document.documentElement.outerHTML");
        let dom = dom.as_str().unwrap();
        dom.split("<script type=\"application/json\"").next().unwrap().to_owned()
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.last_id += 1;
        let mut request = json!({ "id": self.last_id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            request["sessionId"] = json!(session);
        }
        let mut bytes = request.to_string().into_bytes();
        bytes.push(0);
        self.requests.write_all(&bytes).unwrap();
        loop {
            let mut message = self.messages.recv_timeout(BROWSER_PATIENCE).expect("the browser answers");
            if message["id"] == self.last_id {
                assert!(message.get("error").is_none(), "{method}: {message:#}");
                return message["result"].take();
            }
            let told = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"];
            if told.iter().any(|method| message["method"] == *method) {
                self.console.push(message["params"].to_string());
            }
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // Told to close, the browser ends its other processes too.
        let _ = self.requests.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        while self.messages.recv_timeout(BROWSER_PATIENCE).is_ok() {}
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn launch(browser: &Path, profile: &Path) -> Child {
    Command::new("sh")
        .args(["-c", WITH_PIPE])
        .arg(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg("--remote-debugging-pipe")
        .arg(format!("--user-data-dir={}", profile.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What the browser says, until it ends.
fn messages(answers: ChildStdout) -> Receiver<Value> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for message in BufReader::new(answers).split(0) {
            let Ok(message) = message else { return };
            if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                return;
            }
        }
    });
    receiver
}
