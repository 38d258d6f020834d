//! A view of the whole terminal while a benchmark runs (`--live`).
//!
//! The runner tells what happens and goes on; a thread of its own takes it in, looks at the meters, draws and
//! waits for keys, four times in a second. [`model`] is what is known, [`view`] how it looks, [`screen`] the
//! terminal.

mod model;
mod screen;
mod view;
mod window;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::progress::{Beginning, say};
use crate::results::{Run, Setting};
use crate::workload::Meters;
pub(crate) use model::Watched;
use model::{Event, Measured, Model};
use screen::{Key, Screen};

const REDRAW: Duration = Duration::from_millis(250);

/// The view, open. Dropping it puts the terminal back, and says there what was noted.
#[derive(Debug)]
pub(super) struct Live {
    /// Times count from here.
    opened: Instant,
    /// None when it is closed.
    told: Option<Sender<Message>>,
    thread: Option<JoinHandle<Vec<String>>>,
}

#[derive(Debug)]
enum Message {
    /// And when it was.
    Event(Event, Duration),
    /// Of the run that has begun.
    Meters(Arc<Meters>),
}

impl Live {
    /// Takes the terminal; `stop` is called when somebody asks to stop.
    ///
    /// # Errors
    /// When there is no terminal that can be drawn on, with the reason as the end of a sentence.
    pub(super) fn open(watched: Watched, stop: impl Fn() + Send + 'static) -> Result<Self, String> {
        let screen = Screen::open()?;
        let opened = Instant::now();
        let (told, messages) = channel();
        let shown = Shown { model: Model::new(watched), meters: None, opened };
        let thread = std::thread::Builder::new()
            .name("live".to_owned())
            .spawn(move || shown.show(screen, &messages, &stop))
            .map_err(|error| format!("no thread can draw on it ({error})"))?;
        Ok(Self { opened, told: Some(told), thread: Some(thread) })
    }

    pub(super) fn step(&self, name: &str) {
        self.tell(Event::Step(name.to_owned()));
    }

    /// Gives what the threads of the run tell of their work, if they are here.
    pub(super) fn run_begins(&self, beginning: Beginning) -> Option<Arc<Meters>> {
        let Beginning { clients, threads, is_here, .. } = beginning;
        self.tell(Event::RunBegins(beginning));
        let meters = is_here.then(|| Arc::new(Meters::new(clients, threads, self.opened)))?;
        self.send(Message::Meters(meters.clone()));
        Some(meters)
    }

    pub(super) fn measured(&self, setting: &Setting, run: &Run) {
        self.tell(Event::Measured(Measured::of(setting, run)));
    }

    pub(super) fn more_runs(&self, runs: u64) {
        self.tell(Event::MoreRuns(runs));
    }

    pub(super) fn run_done(&self) {
        self.tell(Event::RunDone);
    }

    pub(super) fn note(&self, text: &str) {
        self.tell(Event::Note(text.to_owned()));
    }

    pub(super) fn doubt(&self, text: &str) {
        self.tell(Event::Doubt(text.to_owned()));
    }

    fn tell(&self, event: Event) {
        self.send(Message::Event(event, self.opened.elapsed()));
    }

    fn send(&self, message: Message) {
        if let Some(told) = &self.told {
            // A view that has panicked is no reason to stop measuring.
            let _ = told.send(message);
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.told = None;
        let notes = self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        notes.iter().for_each(|note| say(note));
    }
}

/// What the thread of the view has.
struct Shown {
    model: Model,
    meters: Option<Arc<Meters>>,
    opened: Instant,
}

impl Shown {
    /// Until nobody tells anything any more. Gives what is to be said then.
    fn show(mut self, mut screen: Screen, messages: &Receiver<Message>, stop: &impl Fn()) -> Vec<String> {
        while self.take_what_is_told(messages) {
            self.look();
            let now = self.opened.elapsed();
            if screen.draw(|frame| view::draw(frame, &self.model, now)).is_err() {
                break;
            }
            match screen.wait(REDRAW) {
                Key::None => {}
                Key::Quit => {
                    stop();
                    self.model.apply(Event::Stopping, now);
                }
                Key::Gone => break,
            }
        }
        drop(screen);
        // Without a terminal it is still to be known what was noted.
        messages.iter().for_each(|message| self.take(message));
        self.model.into_notes()
    }

    /// Whether there will be more.
    fn take_what_is_told(&mut self, messages: &Receiver<Message>) -> bool {
        loop {
            match messages.try_recv() {
                Ok(message) => self.take(message),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Meters(meters) => self.meters = Some(meters),
            Message::Event(event, at) => {
                if matches!(event, Event::RunDone) {
                    self.look_for_the_last_time();
                }
                self.model.apply(event, at);
            }
        }
    }

    fn look(&mut self) {
        if let Some(meters) = &self.meters {
            self.model.sample(meters.read(), self.opened.elapsed());
        }
    }

    /// The threads have finished, perhaps a while ago.
    fn look_for_the_last_time(&mut self) {
        if let Some(meters) = self.meters.take() {
            let reading = meters.read();
            let until = reading.until;
            self.model.sample(reading, until);
        }
    }
}
