//! Numbers of the procedures.

/// A procedure of the status monitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Procedure {
    /// Does nothing.
    Null = 0,
    /// Would this host be monitored? [`super::MonitoredName`]; answers [`super::StatResponse`].
    Stat = 1,
    /// Monitors a host: [`super::MonitorArgs`]; answers [`super::StatResponse`].
    Monitor = 2,
    /// No longer: [`super::MonitorId`]; answers the state number as `i32`.
    Unmonitor = 3,
    /// No longer any host for this caller: [`super::CallBack`]; answers the state number as `i32`.
    UnmonitorAll = 4,
    /// Behaves as after a restart.
    SimulateCrash = 5,
    /// A host has restarted: [`super::StatChange`]; answers nothing.
    Notify = 6,
}

impl Procedure {
    /// All of them, in the order of their numbers.
    pub const ALL: &'static [Self] = &[
        Self::Null,
        Self::Stat,
        Self::Monitor,
        Self::Unmonitor,
        Self::UnmonitorAll,
        Self::SimulateCrash,
        Self::Notify,
    ];

    /// The procedure with this number.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.iter().copied().find(|procedure| procedure.number() == number)
    }

    /// Its number on the wire.
    pub fn number(self) -> u32 {
        self as u32
    }
}
