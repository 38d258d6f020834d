//! One suite for all back ends, those outside of this crate too.
//!
//! [`run`] makes a new file system for each check and reports the failures and their places. It runs the
//! checks of exactly what [`FileSystem::capabilities`] promises, and checks that the rest is refused. It
//! knows only the [`FileSystem`] trait, needs no runtime, and asserts no times.

mod absent;
mod attributes;
mod create;
mod data;
mod directory;
mod fixture;
mod handles;
mod links;
mod names;
mod permissions;
mod read_only;
mod rename;
mod space;
mod watch;
mod xattrs;

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;

use crate::{Capabilities, Error, FileSystem, Line};
use fixture::Fixture;

/// What the back end under test can do in its surroundings.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// It enforces the ids of the caller. Otherwise it acts as one user, and the rules of permissions are
    /// left out.
    pub identities: bool,
    /// The superuser can make devices.
    pub devices: bool,
    /// The line of all requests.
    pub line: Line<'static>,
}

/// What came of a run.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Names of the checks that passed.
    pub passed: Vec<&'static str>,
    /// Names of the checks that failed, and why.
    pub failed: Vec<(&'static str, Failure)>,
}

/// Why a check failed.
#[derive(Debug, Clone)]
pub struct Failure {
    message: String,
    location: &'static Location<'static>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)
    }
}

impl Failure {
    #[track_caller]
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), location: Location::caller() }
    }
}

impl From<Error> for Failure {
    #[track_caller]
    fn from(error: Error) -> Self {
        Self::new(format!("unexpected error: {error} ({error:?})"))
    }
}

type Outcome = Result<(), Failure>;
type Running<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

struct Check<F: FileSystem> {
    name: &'static str,
    /// It needs a back end that enforces the caller's ids.
    identities: bool,
    /// The back end must be able to do this.
    needs: fn(&Capabilities) -> bool,
    run: for<'a> fn(&'a Fixture<F>) -> Running<'a>,
}

/// Runs every check that `options` and the capabilities allow, each on a new file system from `make`. Its
/// root must be an empty directory that belongs to the superuser (or to the user it acts as) with mode 0755.
/// A read-only file system has at least one file and one directory below its root, all of them readable.
pub async fn run<F: FileSystem>(make: impl Fn() -> F, options: Options) -> Report {
    let mut report = Report::default();
    for check in checks::<F>() {
        if check.identities && !options.identities {
            continue;
        }
        let fixture = Fixture::new(make(), options);
        if !(check.needs)(&fixture.can) {
            continue;
        }
        match (check.run)(&fixture).await {
            Ok(()) => report.passed.push(check.name),
            Err(failure) => report.failed.push((check.name, failure)),
        }
    }
    report
}

/// Lists checks with the capability that all of them need; each may need one more, or need one to be absent.
macro_rules! checks {
    ($identities:literal, $all:expr; $($module:ident {
        $($name:ident $(if $need:ident)? $(unless $lack:ident)?,)*
    })*) => {
        [$($(Check {
            name: concat!(stringify!($module), "::", stringify!($name)),
            identities: $identities,
            needs: |can| $all(can) $(&& can.$need)? $(&& !can.$lack)?,
            run: |fixture| Box::pin($module::$name(fixture)),
        },)*)*]
    };
}

fn has_changes(can: &Capabilities) -> bool {
    can.changes
}

fn is_read_only(can: &Capabilities) -> bool {
    !can.changes
}

fn checks<F: FileSystem>() -> Vec<Check<F>> {
    let for_all: [Check<F>; _] = checks! { false, has_changes;
        handles {
            the_root_handle_resolves_to_the_root,
            a_handle_round_trips_for_every_kind,
            a_flipped_bit_makes_a_bad_handle,
            a_cut_or_padded_handle_is_bad,
            a_handle_survives_renames,
            a_handle_is_the_same_however_the_object_was_found if hard_links,
            the_handle_of_a_removed_file_is_stale,
            a_held_file_lives_on_without_a_name,
            a_replaced_file_lives_on_as_long_as_it_is_held,
            held_files_without_names_stay_while_many_others_come_and_go,
            objects_that_follow_one_another_differ,
        }
        names {
            a_missing_name_is_not_found,
            only_directories_have_names,
            a_name_may_have_255_bytes_of_any_kind,
            a_new_directory_is_empty_and_counted,
            a_taken_name_exists,
            a_removed_name_is_gone,
            remove_heeds_the_kind,
            a_directory_with_entries_is_not_removed,
            a_removed_directory_takes_no_entries,
            the_parent_is_found_and_the_root_has_none,
            pipes_and_sockets_are_made if special_files,
            devices_keep_their_numbers if special_files,
            the_file_system_has_room_and_limits,
        }
        links {
            a_link_names_the_same_object if hard_links,
            a_link_needs_a_free_name_and_no_directory if hard_links,
            a_symlink_keeps_its_target_and_is_not_followed if symlinks,
            only_symlinks_are_read_as_links if symlinks,
            a_symlink_has_times_but_no_mode_to_set if symlinks,
        }
        create {
            unchecked_opens_an_existing_file,
            unchecked_truncates_to_zero_and_sets_nothing_else,
            unchecked_refuses_other_kinds,
            guarded_refuses_an_existing_name,
            guarded_applies_all_attributes,
            exclusive_recognises_its_own_retry if exclusive_create,
            exclusive_refuses_a_file_made_otherwise if exclusive_create,
        }
        data {
            written_data_are_read_back,
            read_appends_and_tells_the_end,
            holes_read_as_zeros,
            far_offsets_work,
            offsets_beyond_the_largest_file_are_refused,
            an_empty_write_changes_nothing,
            truncation_drops_and_extension_clears,
            only_files_have_data,
            stability_is_at_least_as_asked,
            commit_returns_the_verifier_of_writes,
            a_write_moves_change_and_times,
        }
        space {
            data_and_holes_are_found,
            every_file_ends_with_a_hole,
            reserved_space_reads_as_zeros_and_makes_longer,
            space_that_is_given_back_reads_as_zeros,
            copied_data_are_read_back,
            a_clone_holds_what_its_source_held,
            only_files_have_space,
        }
        watch {
            own_changes_are_not_reported_to_watches,
        }
        xattrs {
            extended_attributes_are_kept if xattrs,
            extended_attributes_are_set_as_the_mode_says if xattrs,
            only_files_and_directories_have_extended_attributes if xattrs,
        }
        attributes {
            a_mode_keeps_its_twelve_bits,
            a_mask_leaves_the_other_bits_of_the_mode,
            times_are_set_to_the_nanosecond,
            times_are_set_to_the_clock,
            only_files_have_a_length_to_set,
            impossible_values_are_invalid,
            setting_nothing_sets_nothing,
            every_change_moves_the_change_attribute,
            the_mode_of_a_symlink_is_not_set if symlinks,
            a_changed_directory_moves_its_change_attribute,
            a_thousand_changes_in_a_row_give_a_thousand_values,
        }
        directory {
            an_empty_directory_lists_itself_and_its_parent,
            entries_are_found_once_whatever_the_page_size,
            cookies_outlive_removals,
            cookies_outlive_additions,
            entries_carry_objects_when_asked,
            only_directories_are_listed,
        }
        rename {
            a_renamed_object_is_the_same,
            a_rename_replaces_a_file,
            a_rename_onto_the_same_object_does_nothing if hard_links,
            a_rename_replaces_an_empty_directory_only,
            a_rename_needs_compatible_kinds,
            a_directory_is_not_moved_into_itself,
            a_missing_source_is_not_found,
            a_moved_directory_has_a_new_parent,
        }
        absent {
            absent_hard_links_are_not_supported unless hard_links,
            absent_symlinks_are_not_supported unless symlinks,
            absent_special_files_are_not_supported unless special_files,
            absent_exclusive_create_is_not_supported unless exclusive_create,
            absent_xattrs_are_not_supported unless xattrs,
        }
    };
    let with_identities: [Check<F>; _] = checks! { true, has_changes;
        permissions {
            mode_bits_decide_by_class,
            supplementary_groups_count,
            the_owner_reads_and_writes_whatever_the_mode,
            execute_permission_lets_files_be_read,
            access_follows_the_mode_without_the_owner_override,
            the_superuser_may_everything_but_run_plain_files,
            a_directory_without_search_hides_its_names,
            a_directory_without_write_keeps_its_names,
            a_directory_without_read_is_not_listed,
            a_sticky_directory_lets_only_owners_remove,
            a_moved_directory_must_be_writable,
            only_the_owner_sets_mode_and_given_times,
            only_the_owner_sets_the_mode_of_a_symlink if symlinks,
            a_writer_sets_times_to_now,
            only_the_superuser_gives_files_away,
            the_owner_gives_a_file_to_own_groups_only,
            a_refused_part_refuses_the_whole,
            truncation_needs_permission_to_write,
            a_new_object_belongs_to_its_maker,
            a_set_group_id_directory_hands_down_its_group,
            a_write_clears_set_id_bits,
            a_change_of_owner_clears_set_id_bits,
            set_group_id_needs_membership,
            devices_need_the_superuser if special_files,
            identities_do_not_leak_between_calls,
        }
        xattrs {
            extended_attributes_have_the_permissions_of_data if xattrs,
        }
    };
    let read_only: [Check<F>; _] = checks! { false, is_read_only;
        handles {
            the_root_handle_resolves_to_the_root,
        }
        read_only {
            every_handle_resolves_to_its_object,
            changed_handles_are_bad,
            objects_have_ids_of_their_own,
            names_are_found_in_directories_only,
            pages_of_any_size_list_the_same_entries,
            files_are_read_in_pieces_to_their_end,
            changes_are_refused_as_read_only,
        }
        absent {
            absent_xattrs_are_not_supported unless xattrs,
        }
    };
    for_all.into_iter().chain(with_identities).chain(read_only).collect()
}

/// Fails the check unless the condition holds.
macro_rules! ensure {
    ($condition:expr) => {
        if !$condition {
            return Err($crate::conformance::Failure::new(concat!("not so: ", stringify!($condition))));
        }
    };
}

/// Fails the check unless both are equal.
macro_rules! same {
    ($left:expr, $right:expr) => {
        match (&$left, &$right) {
            (left, right) if left == right => {}
            (left, right) => {
                return Err($crate::conformance::Failure::new(format!(
                    "{} is {left:?}, expected {right:?}",
                    stringify!($left)
                )));
            }
        }
    };
}

/// Fails the check unless the result is one of the errors.
macro_rules! refused {
    ($result:expr, $($error:pat_param)|+) => {
        match $result {
            Err($($error)|+) => {}
            Err(error) => {
                return Err($crate::conformance::Failure::new(format!(
                    "{} answers {error:?}, expected {}", stringify!($result), stringify!($($error)|+)
                )));
            }
            Ok(_) => {
                return Err($crate::conformance::Failure::new(format!(
                    "{} succeeds, expected {}", stringify!($result), stringify!($($error)|+)
                )));
            }
        }
    };
}

use {ensure, refused, same};
