//! Who may do what. Only for back ends that enforce the caller's ids.

use std::sync::Arc;

use super::fixture::{Fixture, mode, name, size};
use super::{Outcome, ensure, refused, same};
use crate::{
    Access, Content, CreateMode, Error, FileSystem, Identity, NodeKind, RemoveKind, Result, SetAttributes,
    SetTime, Timestamp,
};

const SHARED: u32 = 3000;

fn alice() -> Identity {
    Identity { groups: Arc::from([SHARED]), ..Identity::new(1000, 1000) }
}

fn bob() -> Identity {
    Identity { groups: Arc::from([SHARED]), ..Identity::new(1001, 1001) }
}

fn carol() -> Identity {
    Identity::new(1002, 1002)
}

fn owner(uid: u32, gid: u32) -> SetAttributes {
    SetAttributes { uid: Some(uid), gid: Some(gid), ..Default::default() }
}

/// A file in the root that belongs to alice and the shared group.
async fn alices_file<F: FileSystem>(t: &Fixture<F>, file: &str, bits: u32) -> Result<F::Node> {
    let node = t.file_with(file, b"content").await?;
    t.set(&node, &owner(1000, SHARED)).await?;
    t.set(&node, &mode(bits)).await?;
    Ok(node)
}

/// A directory in the root that anybody may change.
async fn common_dir<F: FileSystem>(t: &Fixture<F>, bits: u32) -> Result<F::Node> {
    let dir = t.dir(&t.root, "common").await?;
    t.set(&dir, &mode(bits)).await?;
    Ok(dir)
}

pub(super) async fn mode_bits_decide_by_class<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = alices_file(t, "file", 0o640).await?;
    same!(t.read_as(&bob(), &file, 0, 7).await?.0, b"content");
    refused!(t.write_as(&bob(), &file, 0, b"x").await, Error::AccessDenied);
    refused!(t.read_as(&carol(), &file, 0, 7).await, Error::AccessDenied);
    t.set(&file, &mode(0o606)).await?;
    // The group's bits count for its members, though others may more.
    refused!(t.read_as(&bob(), &file, 0, 7).await, Error::AccessDenied);
    refused!(t.fs.commit(t.request.made_by(&bob()), &file, 0, 0).await, Error::AccessDenied);
    same!(t.write_as(&carol(), &file, 0, b"C").await?, 1);
    t.fs.commit(t.request.made_by(&carol()), &file, 0, 0).await?;
    Ok(())
}

pub(super) async fn supplementary_groups_count<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = alices_file(t, "file", 0o660).await?;
    let member = Identity { groups: Arc::from([7, 8, SHARED, 9]), ..carol() };
    same!(t.write_as(&member, &file, 0, b"C").await?, 1);
    let stranger = Identity { groups: Arc::from([7, 8, 9]), ..carol() };
    refused!(t.write_as(&stranger, &file, 0, b"C").await, Error::AccessDenied);
    let primary = Identity::new(1002, SHARED);
    same!(t.write_as(&primary, &file, 0, b"C").await?, 1);
    Ok(())
}

pub(super) async fn the_owner_reads_and_writes_whatever_the_mode<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = alices_file(t, "file", 0o000).await?;
    same!(t.write_as(&alice(), &file, 0, b"mine").await?, 4);
    same!(t.read_as(&alice(), &file, 0, 4).await?.0, b"mine");
    refused!(t.read_as(&bob(), &file, 0, 4).await, Error::AccessDenied);
    let common = common_dir(t, 0o777).await?;
    let own = t.file_as(&alice(), &common, "own", 0o444).await?;
    same!(t.write_as(&alice(), &own, 0, b"mine").await?, 4);
    Ok(())
}

pub(super) async fn execute_permission_lets_files_be_read<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = alices_file(t, "file", 0o710).await?;
    same!(t.read_as(&bob(), &file, 0, 7).await?.0, b"content");
    refused!(t.read_as(&carol(), &file, 0, 7).await, Error::AccessDenied);
    refused!(t.write_as(&bob(), &file, 0, b"x").await, Error::AccessDenied);
    same!(t.fs.access(t.request.made_by(&bob()), &file, Access::ALL).await?, Access::EXECUTE);
    t.set(&file, &mode(0o711)).await?;
    same!(t.read_as(&carol(), &file, 2, 9).await?.0, b"ntent");
    match t.fs.seek(t.request.made_by(&carol()), &file, 0, Content::Hole).await {
        Ok(end) => same!(end, Some(7)),
        Err(error) => same!(matches!(error, Error::NotSupported), true),
    }
    // The class that the caller is in decides.
    t.set(&file, &mode(0o701)).await?;
    refused!(t.read_as(&bob(), &file, 0, 7).await, Error::AccessDenied);
    t.set(&file, &mode(0o700)).await?;
    refused!(t.read_as(&carol(), &file, 0, 7).await, Error::AccessDenied);
    let dir = t.dir(&t.root, "dir").await?;
    t.set(&dir, &mode(0o711)).await?;
    refused!(t.fs.read_dir(t.request.made_by(&carol()), &dir, 0, 10, false).await, Error::AccessDenied);
    Ok(())
}

pub(super) async fn access_follows_the_mode_without_the_owner_override<F: FileSystem>(
    t: &Fixture<F>,
) -> Outcome {
    let file = alices_file(t, "file", 0o754).await?;
    let dir = t.dir(&t.root, "dir").await?;
    t.set(&dir, &owner(1000, SHARED)).await?;
    t.set(&dir, &mode(0o751)).await?;
    let data = Access::READ.0 | Access::MODIFY.0 | Access::EXTEND.0;
    same!(
        t.fs.access(t.request.made_by(&alice()), &file, Access::ALL).await?,
        Access(data | Access::EXECUTE.0)
    );
    same!(
        t.fs.access(t.request.made_by(&bob()), &file, Access::ALL).await?,
        Access(Access::READ.0 | Access::EXECUTE.0)
    );
    same!(t.fs.access(t.request.made_by(&carol()), &file, Access::ALL).await?, Access::READ);
    same!(t.fs.access(t.request.made_by(&carol()), &file, Access::MODIFY).await?, Access(0));
    let listing = Access::READ.0 | Access::LOOKUP.0;
    same!(
        t.fs.access(t.request.made_by(&alice()), &dir, Access::ALL).await?,
        Access(data | Access::LOOKUP.0 | Access::DELETE.0)
    );
    same!(t.fs.access(t.request.made_by(&bob()), &dir, Access::ALL).await?, Access(listing));
    same!(t.fs.access(t.request.made_by(&carol()), &dir, Access::ALL).await?, Access::LOOKUP);
    t.set(&file, &mode(0o000)).await?;
    same!(t.fs.access(t.request.made_by(&alice()), &file, Access::ALL).await?, Access(0));
    Ok(())
}

pub(super) async fn the_superuser_may_everything_but_run_plain_files<F: FileSystem>(
    t: &Fixture<F>,
) -> Outcome {
    let file = alices_file(t, "file", 0o000).await?;
    same!(t.read(&file, 0, 7).await?.0, b"content");
    let data = Access::READ.0 | Access::MODIFY.0 | Access::EXTEND.0;
    same!(t.fs.access(t.request, &file, Access::ALL).await?, Access(data));
    t.set(&file, &mode(0o010)).await?;
    same!(t.fs.access(t.request, &file, Access::ALL).await?, Access(data | Access::EXECUTE.0));
    Ok(())
}

pub(super) async fn a_directory_without_search_hides_its_names<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = common_dir(t, 0o777).await?;
    t.file(&dir, "file").await?;
    t.dir(&dir, "below").await?;
    t.set(&dir, &mode(0o766)).await?;
    refused!(t.fs.lookup(t.request.made_by(&carol()), &dir, name("file")).await, Error::AccessDenied);
    refused!(t.fs.lookup(t.request.made_by(&carol()), &dir, name("missing")).await, Error::AccessDenied);
    refused!(t.fs.lookup_parent(t.request.made_by(&carol()), &dir).await, Error::AccessDenied);
    refused!(t.file_as(&carol(), &dir, "new", 0o600).await, Error::AccessDenied);
    let page = t.fs.read_dir(t.request.made_by(&carol()), &dir, 0, 100, true).await?;
    same!(page.entries.iter().filter(|entry| &entry.name[..] == b"file").count(), 1);
    Ok(())
}

pub(super) async fn a_directory_without_write_keeps_its_names<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = common_dir(t, 0o755).await?;
    let open = t.dir(&t.root, "open").await?;
    t.set(&open, &mode(0o777)).await?;
    let file = t.file(&dir, "file").await?;
    t.set(&file, &mode(0o666)).await?;
    let who = carol();
    refused!(t.file_as(&who, &dir, "new", 0o600).await, Error::AccessDenied);
    refused!(t.dir_as(&who, &dir, "new", 0o700).await, Error::AccessDenied);
    let (new, none) = (name("new"), SetAttributes::default());
    if t.can.symlinks {
        refused!(
            t.fs.make_symlink(t.request.made_by(&who), &dir, new, b"x", &none).await,
            Error::AccessDenied
        );
    }
    if t.can.special_files {
        refused!(
            t.fs.make_node(t.request.made_by(&who), &dir, new, NodeKind::Fifo, &none).await,
            Error::AccessDenied
        );
    }
    if t.can.hard_links {
        refused!(
            t.fs.link(t.request.made_by(&who), &file, &dir, new).await,
            Error::AccessDenied | Error::NotPermitted
        );
    }
    refused!(
        t.fs.remove(t.request.made_by(&who), &dir, name("file"), RemoveKind::Any).await,
        Error::AccessDenied
    );
    refused!(
        t.fs.rename(t.request.made_by(&who), &dir, name("file"), &open, name("file")).await,
        Error::AccessDenied
    );
    t.file_as(&who, &open, "own", 0o600).await?;
    refused!(
        t.fs.rename(t.request.made_by(&who), &open, name("own"), &dir, name("own")).await,
        Error::AccessDenied
    );
    same!(t.names(&dir).await?, ["file"]);
    // An existing file can still be opened.
    ensure!(
        !t.fs
            .create(t.request.made_by(&who), &dir, name("file"), &CreateMode::Unchecked(mode(0o600)))
            .await?
            .created
    );
    Ok(())
}

pub(super) async fn a_directory_without_read_is_not_listed<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = common_dir(t, 0o733).await?;
    t.file_as(&carol(), &dir, "file", 0o600).await?;
    t.fs.lookup(t.request.made_by(&carol()), &dir, name("file")).await?;
    refused!(t.fs.read_dir(t.request.made_by(&carol()), &dir, 0, 10, false).await, Error::AccessDenied);
    Ok(())
}

pub(super) async fn a_sticky_directory_lets_only_owners_remove<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = common_dir(t, 0o1777).await?;
    for file in ["a", "b", "c"] {
        t.file_as(&alice(), &dir, file, 0o666).await?;
    }
    t.file_as(&bob(), &dir, "bobs", 0o666).await?;
    let refusal = t.fs.remove(t.request.made_by(&bob()), &dir, name("a"), RemoveKind::Any).await;
    refused!(refusal, Error::NotPermitted | Error::AccessDenied);
    let refusal = t.fs.rename(t.request.made_by(&bob()), &dir, name("a"), &dir, name("d")).await;
    refused!(refusal, Error::NotPermitted | Error::AccessDenied);
    let refusal = t.fs.rename(t.request.made_by(&bob()), &dir, name("bobs"), &dir, name("a")).await;
    refused!(refusal, Error::NotPermitted | Error::AccessDenied);
    t.fs.remove(t.request.made_by(&alice()), &dir, name("a"), RemoveKind::Any).await?;
    t.remove(&dir, "b").await?;
    t.set(&dir, &owner(1001, 1001)).await?;
    t.fs.remove(t.request.made_by(&bob()), &dir, name("c"), RemoveKind::Any).await?;
    Ok(())
}

pub(super) async fn a_moved_directory_must_be_writable<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = common_dir(t, 0o777).await?;
    let other = t.dir_as(&alice(), &dir, "other", 0o777).await?;
    t.set(&other, &mode(0o777)).await?;
    t.dir_as(&alice(), &dir, "moved", 0o755).await?;
    refused!(
        t.fs.rename(t.request.made_by(&bob()), &dir, name("moved"), &other, name("x")).await,
        Error::AccessDenied
    );
    t.fs.rename(t.request.made_by(&bob()), &dir, name("moved"), &dir, name("renamed")).await?;
    t.fs.rename(t.request.made_by(&alice()), &dir, name("renamed"), &other, name("x")).await?;
    Ok(())
}

pub(super) async fn only_the_owner_sets_mode_and_given_times<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = alices_file(t, "file", 0o666).await?;
    let time = Some(SetTime::To(Timestamp { seconds: 1, nanoseconds: 0 }));
    let times = SetAttributes { modified: time, ..Default::default() };
    refused!(t.fs.set_attributes(t.request.made_by(&bob()), &file, &mode(0o777)).await, Error::NotPermitted);
    refused!(t.fs.set_attributes(t.request.made_by(&bob()), &file, &times).await, Error::NotPermitted);
    same!(t.fs.set_attributes(t.request.made_by(&alice()), &file, &mode(0o600)).await?.mode, 0o600);
    same!(t.fs.set_attributes(t.request.made_by(&alice()), &file, &times).await?.modified.seconds, 1);
    Ok(())
}

pub(super) async fn only_the_owner_sets_the_mode_of_a_symlink<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = common_dir(t, 0o777).await?;
    let (link, _) = t
        .fs
        .make_symlink(t.request.made_by(&alice()), &dir, name("link"), b"target", &SetAttributes::default())
        .await?;
    t.fs.set_attributes(t.request.made_by(&alice()), &link, &mode(0o700)).await?;
    refused!(t.fs.set_attributes(t.request.made_by(&bob()), &link, &mode(0o700)).await, Error::NotPermitted);
    Ok(())
}

pub(super) async fn a_writer_sets_times_to_now<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = alices_file(t, "file", 0o664).await?;
    let now =
        SetAttributes { accessed: Some(SetTime::Now), modified: Some(SetTime::Now), ..Default::default() };
    t.fs.set_attributes(t.request.made_by(&bob()), &file, &now).await?;
    refused!(
        t.fs.set_attributes(t.request.made_by(&carol()), &file, &now).await,
        Error::AccessDenied | Error::NotPermitted
    );
    Ok(())
}

pub(super) async fn only_the_superuser_gives_files_away<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = alices_file(t, "file", 0o644).await?;
    let to_bob = SetAttributes { uid: Some(1001), ..Default::default() };
    refused!(t.fs.set_attributes(t.request.made_by(&alice()), &file, &to_bob).await, Error::NotPermitted);
    refused!(t.fs.set_attributes(t.request.made_by(&bob()), &file, &to_bob).await, Error::NotPermitted);
    let to_self = SetAttributes { uid: Some(1000), ..Default::default() };
    same!(t.fs.set_attributes(t.request.made_by(&alice()), &file, &to_self).await?.uid, 1000);
    same!(t.set(&file, &to_bob).await?.uid, 1001);
    Ok(())
}

pub(super) async fn the_owner_gives_a_file_to_own_groups_only<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = alices_file(t, "file", 0o644).await?;
    let group = |gid| SetAttributes { gid: Some(gid), ..Default::default() };
    same!(t.fs.set_attributes(t.request.made_by(&alice()), &file, &group(1000)).await?.gid, 1000);
    same!(t.fs.set_attributes(t.request.made_by(&alice()), &file, &group(SHARED)).await?.gid, SHARED);
    refused!(
        t.fs.set_attributes(t.request.made_by(&alice()), &file, &group(1001)).await,
        Error::NotPermitted
    );
    refused!(t.fs.set_attributes(t.request.made_by(&bob()), &file, &group(1001)).await, Error::NotPermitted);
    Ok(())
}

pub(super) async fn a_refused_part_refuses_the_whole<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = alices_file(t, "file", 0o666).await?;
    let before = t.fs.attributes(t.request, &file).await?;
    let set = SetAttributes { size: Some(0), ..mode(0o600) };
    refused!(t.fs.set_attributes(t.request.made_by(&bob()), &file, &set).await, Error::NotPermitted);
    let set = SetAttributes { size: Some(0), uid: Some(1001), ..mode(0o600) };
    refused!(t.fs.set_attributes(t.request.made_by(&alice()), &file, &set).await, Error::NotPermitted);
    same!(t.fs.attributes(t.request, &file).await?, before);
    let dir = common_dir(t, 0o777).await?;
    let how = CreateMode::Guarded(SetAttributes { uid: Some(1001), ..mode(0o600) });
    refused!(t.fs.create(t.request.made_by(&alice()), &dir, name("new"), &how).await, Error::NotPermitted);
    same!(t.names(&dir).await?.len(), 0);
    Ok(())
}

pub(super) async fn truncation_needs_permission_to_write<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = alices_file(t, "file", 0o444).await?;
    refused!(t.fs.set_attributes(t.request.made_by(&bob()), &file, &size(0)).await, Error::AccessDenied);
    let how = CreateMode::Unchecked(size(0));
    refused!(t.fs.create(t.request.made_by(&bob()), &t.root, name("file"), &how).await, Error::AccessDenied);
    same!(t.fs.set_attributes(t.request.made_by(&alice()), &file, &size(3)).await?.size, 3);
    Ok(())
}

pub(super) async fn a_new_object_belongs_to_its_maker<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = common_dir(t, 0o777).await?;
    let file = t.file_as(&alice(), &dir, "file", 0o666).await?;
    let below = t.dir_as(&alice(), &dir, "below", 0o777).await?;
    let mut made = vec![&file, &below];
    let link;
    if t.can.symlinks {
        link =
            t.fs.make_symlink(t.request.made_by(&alice()), &dir, name("link"), b"x", &Default::default())
                .await?
                .0;
        made.push(&link);
    }
    for node in made {
        let attributes = t.fs.attributes(t.request, node).await?;
        same!((attributes.uid, attributes.gid), (1000, 1000));
    }
    // The client has applied the user's umask already.
    same!(
        (t.fs.attributes(t.request, &file).await?.mode, t.fs.attributes(t.request, &below).await?.mode),
        (0o666, 0o777)
    );
    let how = CreateMode::Guarded(SetAttributes { mode: Some(0o600), ..owner(1000, SHARED) });
    let given = t.fs.create(t.request.made_by(&alice()), &dir, name("given"), &how).await?.attributes;
    same!((given.uid, given.gid), (1000, SHARED));
    let how = CreateMode::Guarded(SetAttributes { mode: Some(0o600), ..owner(1001, 1001) });
    let given = t.fs.create(t.request, &dir, name("by root"), &how).await?.attributes;
    same!((given.uid, given.gid), (1001, 1001));
    Ok(())
}

pub(super) async fn a_set_group_id_directory_hands_down_its_group<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = common_dir(t, 0o777).await?;
    t.set(&dir, &owner(0, SHARED)).await?;
    t.set(&dir, &mode(0o2777)).await?;
    let file = t.fs.attributes(t.request, &t.file_as(&carol(), &dir, "file", 0o644).await?).await?;
    same!((file.uid, file.gid, file.mode), (1002, SHARED, 0o644));
    let below = t.fs.attributes(t.request, &t.dir_as(&carol(), &dir, "below", 0o755).await?).await?;
    same!((below.gid, below.mode), (SHARED, 0o2755));
    Ok(())
}

pub(super) async fn a_write_clears_set_id_bits<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    for (file, by_size) in [("written", false), ("cut", true)] {
        let node = alices_file(t, file, 0o6777).await?;
        match by_size {
            false => same!(t.write_as(&bob(), &node, 0, b"x").await?, 1),
            true => same!(t.fs.set_attributes(t.request.made_by(&bob()), &node, &size(1)).await?.size, 1),
        }
        same!(t.fs.attributes(t.request, &node).await?.mode, 0o777);
    }
    let kept = alices_file(t, "kept", 0o4755).await?;
    t.write(&kept, 0, b"x").await?;
    same!(t.fs.attributes(t.request, &kept).await?.mode, 0o4755);
    Ok(())
}

pub(super) async fn a_change_of_owner_clears_set_id_bits<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = alices_file(t, "file", 0o6755).await?;
    same!(t.set(&file, &owner(1001, 1001)).await?.mode, 0o755);
    let set = SetAttributes { mode: Some(0o4755), ..owner(1000, 1000) };
    same!(t.set(&file, &set).await?.mode, 0o4755);
    Ok(())
}

pub(super) async fn set_group_id_needs_membership<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = alices_file(t, "file", 0o755).await?;
    same!(t.fs.set_attributes(t.request.made_by(&alice()), &file, &mode(0o2755)).await?.mode, 0o2755);
    t.set(&file, &owner(1000, 4000)).await?;
    same!(t.fs.set_attributes(t.request.made_by(&alice()), &file, &mode(0o2755)).await?.mode, 0o755);
    Ok(())
}

pub(super) async fn devices_need_the_superuser<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = common_dir(t, 0o777).await?;
    for kind in [NodeKind::Block(1, 1), NodeKind::Character(1, 3)] {
        refused!(
            t.fs.make_node(t.request.made_by(&carol()), &dir, name("device"), kind, &mode(0o666)).await,
            Error::NotPermitted
        );
    }
    Ok(())
}

pub(super) async fn identities_do_not_leak_between_calls<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let dir = common_dir(t, 0o777).await?;
    let secret = alices_file(t, "secret", 0o600).await?;
    let handle = t.fs.handle(&secret);
    drop(secret);
    for round in 0..20 {
        let secret = t.fs.resolve(t.request, handle.as_bytes()).await?;
        same!(t.read_as(&alice(), &secret, 0, 7).await?.1.count, 7);
        refused!(t.read_as(&carol(), &secret, 0, 7).await, Error::AccessDenied);
        t.read(&secret, 0, 7).await?;
        refused!(t.read_as(&bob(), &secret, 0, 7).await, Error::AccessDenied);
        for (who, file) in [(alice(), "a"), (t.request.identity.clone(), "r"), (carol(), "c")] {
            let node = t.file_as(&who, &dir, &format!("{file}{round}"), 0o600).await?;
            same!(t.fs.attributes(t.request, &node).await?.uid, who.uid);
            same!(t.fs.attributes(t.request, &node).await?.gid, who.gid);
        }
    }
    Ok(())
}
