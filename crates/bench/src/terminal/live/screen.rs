//! The terminal while the live view has it: the alternate screen, no echo, keys one at a time. It is put back
//! on every way out.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Stderr, stderr, stdin};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::tcgetwinsize;

/// Where a terminal does not tell its size, as some pseudo-terminals.
const USUAL_SIZE: (u16, u16) = (80, 24);
/// What Ctrl-C is where the terminal does not make a signal of it.
const CONTROL_C: u8 = 0x03;

/// Whether a screen is open in this process.
static IS_OPEN: AtomicBool = AtomicBool::new(false);
static PUT_BACK_BY_PANICS: Once = Once::new();

/// What came of waiting for keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// None that means anything.
    None,
    /// `q` or Ctrl-C.
    Quit,
    /// There is no terminal any more.
    Gone,
}

/// Standard error, with the terminal's keys.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stderr>>>,
    keys: Keys,
}

enum Keys {
    StandardInput,
    Terminal(File),
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// When there is none that can be drawn on, with the reason as the end of a sentence.
    pub(super) fn open() -> Result<Self, String> {
        if !stderr().is_terminal() {
            return Err("standard error is none".to_owned());
        }
        if std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb") {
            return Err("TERM names none that can be drawn on".to_owned());
        }
        let failed = |error: io::Error| format!("the one that is there cannot be used ({error})");
        let keys = Keys::open().map_err(failed)?;
        let backend = CrosstermBackend::new(BufWriter::new(stderr()));
        let viewport = Viewport::Fixed(area());
        let terminal = Terminal::with_options(backend, TerminalOptions { viewport }).map_err(failed)?;
        enable_raw_mode().map_err(failed)?;
        PUT_BACK_BY_PANICS.call_once(put_back_before_a_panic_is_told);
        IS_OPEN.store(true, Ordering::SeqCst);
        // From here on, dropping it puts the terminal back.
        let screen = Self { terminal, keys };
        execute!(stderr(), EnterAlternateScreen, Hide).map_err(failed)?;
        Ok(screen)
    }

    /// Draws, in the size that the terminal has now.
    ///
    /// # Errors
    /// When the terminal is gone, or was put back because something panicked.
    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        if !IS_OPEN.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let area = area();
        if self.terminal.get_frame().area() != area {
            self.terminal.resize(area)?;
        }
        self.terminal.draw(draw)?;
        Ok(())
    }

    /// Waits until a key means something, at most so long.
    pub(super) fn wait(&self, length: Duration) -> Key {
        let deadline = Instant::now() + length;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.keys.pressed(left) {
                Ok(Key::None) if !left.is_zero() => {}
                Ok(key) => return key,
                Err(_) => return Key::Gone,
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        put_back();
    }
}

impl Keys {
    /// Those of the terminal that crossterm switches the echo of off.
    fn open() -> io::Result<Self> {
        match stdin().is_terminal() {
            true => Ok(Self::StandardInput),
            false => File::options().read(true).open("/dev/tty").map(Self::Terminal),
        }
    }

    /// What was pressed within this time. crossterm's own events do not end when the terminal does.
    fn pressed(&self, within: Duration) -> io::Result<Key> {
        let input = stdin();
        let terminal: BorrowedFd<'_> = match self {
            Self::StandardInput => input.as_fd(),
            Self::Terminal(file) => file.as_fd(),
        };
        let timeout = Timespec::try_from(within).map_err(|_| io::ErrorKind::InvalidInput)?;
        match poll(&mut [PollFd::new(&terminal, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => return Ok(Key::None),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut bytes = [0; 64];
        let length = rustix::io::read(terminal, &mut bytes)?;
        let means_quit = |byte: &u8| matches!(*byte, b'q' | b'Q' | CONTROL_C);
        Ok(match &bytes[..length] {
            [] => Key::Gone,
            pressed if pressed.iter().any(means_quit) => Key::Quit,
            _ => Key::None,
        })
    }
}

/// The whole terminal.
fn area() -> Rect {
    let told = tcgetwinsize(stderr()).map(|size| (size.ws_col, size.ws_row));
    let (width, height) = told.ok().filter(|(width, height)| *width > 0 && *height > 0).unwrap_or(USUAL_SIZE);
    Rect::new(0, 0, width, height)
}

fn put_back() {
    if IS_OPEN.swap(false, Ordering::SeqCst) {
        // A terminal that is gone needs nothing.
        let _ = execute!(stderr(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}

/// What a panic says is to be read where the user looks afterwards.
fn put_back_before_a_panic_is_told() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        put_back();
        tell(panic);
    }));
}
