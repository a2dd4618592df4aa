//! `--container`: the cgroup of a container, by its name or id.
//!
//! Run times put the id of a container into the name of its cgroup, or its name, and so it is found, whatever made it:
//!
//! | run time | cgroup |
//! |---|---|
//! | docker | `docker-ID.scope`, `docker/ID` |
//! | podman | `libpod-ID.scope`, `libpod_parent/libpod-ID` |
//! | containerd, cri-o | `cri-containerd-ID.scope`, `SLICE:cri-containerd:ID`, `crio-ID.scope`, `NAMESPACE/ID` |
//! | kubernetes | any of these below `kubepods…podUID.slice` or `kubepods/…/podUID` |
//! | systemd-nspawn | `machine-NAME.scope`, `systemd-nspawn@NAME.service` |
//! | LXC, LXD, Incus | `lxc.payload.NAME`, `lxc.payload/NAME`, `lxc/NAME` |
//!
//! Names of those with an id are in files of docker, podman and kubernetes. They only say which id is meant.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use serde_json::Value;

use super::{cgroup, host};
use crate::images::answering;
use crate::images::local::open_regular;
use crate::output::counted;

/// Characters of an id.
const ID_LENGTH: usize = 64;
/// Fewer characters of one are too few to mean it.
const LEAST_PREFIX: usize = 4;
/// Characters of an id in messages, as docker prints it.
const SHORT: usize = 12;
/// Levels of cgroups that are looked at, and how many of them.
const MOST_LEVELS: usize = 16;
const MOST_CGROUPS: usize = 1 << 16;
/// Bytes of a file with names.
const MOST_NAMES: u64 = 16 << 20;
/// Folders with such files.
const MOST_FOLDERS: usize = 1 << 10;
/// The user who may name all containers.
const ROOT: u32 = 0;
/// Containers that a message tells of.
const MOST_SAID: usize = 10;
/// What else run times put before an id: who watches over a container is not in it.
const WATCHERS: &str = "conmon";

/// A container that has a cgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Container {
    /// `None` if its run time knows it by name alone.
    id: Option<String>,
    /// Its cgroup.
    folder: PathBuf,
    /// Containers that it is in: what these call theirs counts less.
    within: usize,
    /// What people call it.
    names: Vec<String>,
    /// The uid of its pod, and the cgroup of that.
    pod: Option<(String, PathBuf)>,
}

/// The cgroup of the container, or of the pod, that is meant.
pub fn folder(asked: &str) -> Result<PathBuf> {
    let mount = cgroup::mounted("--container")?;
    let mut containers = containers(&mount);
    name(&mut containers, Path::new("/"));
    find(asked, &containers).map_err(|why| {
        let remedy = match host::is_in_pid_namespace() {
            true => "; this is a container itself: record on the host, or with its cgroups and processes",
            false => "",
        };
        anyhow!("--container {asked}: {why}{remedy}")
    })
}

/// The container that a name, an id, the beginning of one or the uid of a pod means.
fn find(asked: &str, containers: &[Container]) -> Result<PathBuf, String> {
    let by = |is_meant: &dyn Fn(&Container) -> bool| -> Vec<&Container> {
        let meant = || containers.iter().filter(|it| is_meant(it));
        let least = meant().map(|it| it.within).min();
        meant().filter(|it| Some(it.within) == least).collect()
    };
    let of_pod = |it: &&Container| it.pod.as_ref().filter(|(uid, _)| uid == asked).cloned();
    if let Some((_, folder)) = containers.iter().find_map(|it| of_pod(&it)) {
        return Ok(folder);
    }
    let is_prefix = asked.len() >= LEAST_PREFIX && is_hex(asked);
    let named = by(&|it| it.names.iter().any(|name| name == asked));
    let meant = match named.is_empty() {
        true => by(&|it| is_prefix && it.id.as_ref().is_some_and(|id| id.starts_with(asked))),
        false => named,
    };
    // What is left of one that has ended is not meant beside one that runs.
    let meant = match &meant[..] {
        [] | [_] => meant,
        several => match running(several.iter().copied()) {
            of_them if of_them.is_empty() => meant,
            of_them => of_them,
        },
    };
    match &meant[..] {
        [one] => Ok(one.folder.clone()),
        [] => {
            let nothing = match &running(containers)[..] {
                [] => "no cgroup here is one of a container that runs".to_owned(),
                all => format!("there is no such container; there are {}", said(all)),
            };
            Err(match is_hex(asked) && !is_prefix {
                true => format!("{nothing}; of an id, give {LEAST_PREFIX} digits or more"),
                false => nothing,
            })
        }
        several => {
            let which = said(several);
            let remedy = match several.iter().all(|it| it.id.is_some()) {
                true => "give more of the id",
                false => "give its cgroup with -G",
            };
            Err(format!("that may be {which}; {remedy}"))
        }
    }
}

/// Names and ids, as far as there is room.
fn said(containers: &[&Container]) -> String {
    let more = containers.len().saturating_sub(MOST_SAID);
    let words = containers.iter().take(MOST_SAID).map(|it| {
        let id = it.id.as_ref().map(|id| &id[..SHORT]);
        match (it.names.first(), id) {
            (Some(name), Some(id)) => format!("{name} ({id})"),
            (Some(name), None) => name.clone(),
            (None, id) => id.unwrap_or_default().to_owned(),
        }
    });
    let mut words: Vec<String> = words.collect();
    words.extend((more > 0).then(|| counted(more as u64, "more", "more")));
    words.join(", ")
}

/// Those with processes.
fn running<'a>(containers: impl IntoIterator<Item = &'a Container>) -> Vec<&'a Container> {
    containers.into_iter().filter(|it| has_processes(&it.folder)).collect()
}

/// Whether a process is in a cgroup or below it: the unified hierarchy says so (`Documentation/admin-guide/cgroup-v2.rst`).
/// One that cannot be read may have some.
fn has_processes(folder: &Path) -> bool {
    if let Ok(events) = fs::read_to_string(folder.join("cgroup.events")) {
        return events.lines().any(|line| line == "populated 1");
    }
    let own = fs::read_to_string(folder.join("cgroup.procs"));
    let below = || fs::read_dir(folder).into_iter().flatten().flatten();
    own.map_or(true, |pids| !pids.is_empty())
        || below()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .any(|entry| has_processes(&entry.path()))
}

/// All containers below a mount of cgroups, also those within containers.
fn containers(mount: &Path) -> Vec<Container> {
    let (mut found, mut looked_at) = (Vec::new(), 0);
    let mut waiting = vec![(mount.to_owned(), 0, 0, None)];
    while let Some((folder, level, within, pod)) = waiting.pop() {
        let is_of_lxc = folder.file_name().is_some_and(|it| it == "lxc" || it == "lxc.payload");
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let name = entry.file_name();
            let (true, Some(name)) = (is_folder, name.to_str()) else { continue };
            looked_at += 1;
            if looked_at > MOST_CGROUPS {
                return found;
            }
            let path = entry.path();
            let pod = uid_in(name).map(|uid| (uid, path.clone())).or_else(|| pod.clone());
            let id = id_in(name).map(str::to_owned);
            let called = name_in(name).or_else(|| is_of_lxc.then(|| name.to_owned()));
            let is_container = id.is_some() || called.is_some();
            if is_container {
                let names = called.filter(|_| id.is_none()).into_iter().collect();
                found.push(Container { id, folder: path.clone(), within, names, pod: pod.clone() });
            }
            if level < MOST_LEVELS {
                waiting.push((path, level + 1, within + usize::from(is_container), pod));
            }
        }
    }
    found.sort_by(|one, other| (one.within, &one.folder).cmp(&(other.within, &other.folder)));
    // Some run times repeat its id further down.
    let mut seen = HashSet::new();
    found.retain(|it| it.id.as_ref().is_none_or(|id| seen.insert(id.clone())));
    found
}

/// The name in that of a container's cgroup. systemd writes a hyphen as `\x2d`; other letters that it would write so are in
/// no machine's name.
fn name_in(name: &str) -> Option<String> {
    let of_machine = name.strip_prefix("machine-").and_then(|name| name.strip_suffix(".scope"));
    let of_service =
        || name.strip_prefix("systemd-nspawn@").and_then(|name| name.strip_suffix(".service"));
    let of_systemd = of_machine.or_else(of_service).map(|name| name.replace("\\x2d", "-"));
    of_systemd.or_else(|| name.strip_prefix("lxc.payload.").map(str::to_owned))
}

/// The id in the name of a container's cgroup.
fn id_in(name: &str) -> Option<&str> {
    let name = name.strip_suffix(".scope").unwrap_or(name);
    let start = name.len().checked_sub(ID_LENGTH).filter(|&at| name.is_char_boundary(at))?;
    let (before, id) = name.split_at(start);
    let is_its = before.is_empty() || (before.ends_with(['-', ':']) && !before.contains(WATCHERS));
    (is_its && is_hex(id)).then_some(id)
}

/// The uid in the name of a pod's cgroup: `podUID`, or `kubepods-burstable-podUID.slice`, where its hyphens are
/// underscores.
fn uid_in(name: &str) -> Option<String> {
    let name = name.strip_suffix(".slice").unwrap_or(name);
    let uid = match name.rsplit_once("-pod") {
        Some((before, uid)) if before.starts_with("kubepods") => uid.replace('_', "-"),
        _ => name.strip_prefix("pod")?.to_owned(),
    };
    let is_uid = uid.len() >= 32 && uid.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    is_uid.then_some(uid)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Reads what containers are called, from the files of run times below a root folder.
fn name(containers: &mut [Container], root: &Path) {
    let of_podman = names_of_podman(root);
    let of_kubernetes = names_of_kubernetes(root);
    for container in containers {
        let Some(id) = &container.id else { continue };
        let docker = format!("var/lib/docker/containers/{id}/config.v2.json");
        let docker = json(&root.join(docker));
        let docker = docker.as_ref().and_then(|it| it["Name"].as_str());
        container.names.extend(docker.map(|name| name.trim_start_matches('/').to_owned()));
        // A user names his own, not those of others.
        let owner = container.folder.metadata().map(|it| it.uid()).unwrap_or(ROOT);
        let of_podman = of_podman.iter().filter(|(_, _, user)| [owner, ROOT].contains(user));
        let of_podman = of_podman.map(|(of, name, _)| (of, name));
        let of_kubernetes = of_kubernetes.iter().map(|(of, name)| (of, name));
        let of_it = of_podman.chain(of_kubernetes).filter(|(of, _)| *of == id);
        container.names.extend(of_it.map(|(_, name)| name.clone()));
    }
}

/// Ids, names and whose files tell of them: `[{"id": …, "names": […]}]`.
fn names_of_podman(root: &Path) -> Vec<(String, String, u32)> {
    const STORAGE: &str = "containers/storage";
    let of_users = homes(root).into_iter().map(|home| home.join(".local/share").join(STORAGE));
    let storages = [root.join("var/lib").join(STORAGE)].into_iter().chain(of_users);
    // `overlay-containers`, `vfs-containers`: each driver has its folder. A server that does not answer may be behind a home.
    let folders = storages
        .filter(|storage| answering::answers(storage))
        .flat_map(|storage| fs::read_dir(storage).into_iter().flatten().flatten())
        .filter(|it| it.file_name().as_encoded_bytes().ends_with(b"-containers"))
        .take(MOST_FOLDERS);
    // Those of `--rm` are in the second.
    let files = folders.flat_map(|folder| {
        ["containers.json", "volatile-containers.json"].map(|file| folder.path().join(file))
    });
    let mut names = Vec::new();
    for file in files {
        let Ok(user) = file.metadata().map(|it| it.uid()) else { continue };
        let containers = json(&file);
        for container in containers.iter().filter_map(Value::as_array).flatten() {
            let Some(id) = container["id"].as_str() else { continue };
            let of_it = container["names"].as_array().into_iter().flatten();
            let of_it = of_it.filter_map(Value::as_str);
            names.extend(of_it.map(|name| (id.to_owned(), name.to_owned(), user)));
        }
    }
    names
}

/// The homes of users, below a root folder: root may record the containers of all.
fn homes(root: &Path) -> BTreeSet<PathBuf> {
    let users = fs::read_to_string(root.join("etc/passwd")).unwrap_or_default();
    let of_all = users.lines().filter_map(|user| user.split(':').nth(5)).map(PathBuf::from);
    let homes = of_all.chain(std::env::home_dir());
    homes.filter_map(|home| Some(root.join(home.strip_prefix("/").ok()?))).collect()
}

/// Ids and names, by the files of their logs: `POD_NAMESPACE_CONTAINER-ID.log`.
fn names_of_kubernetes(root: &Path) -> Vec<(String, String)> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join("var/log/containers")).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let parts = name.to_str().and_then(|name| name.strip_suffix(".log")?.rsplit_once('-'));
        let Some((name, id)) = parts.filter(|(_, id)| id.len() == ID_LENGTH && is_hex(id)) else {
            continue;
        };
        if let [pod, namespace, container] = name.split('_').collect::<Vec<_>>()[..] {
            let all = [
                container.to_owned(),
                format!("{pod}/{container}"),
                format!("{namespace}/{pod}/{container}"),
            ];
            names.extend(all.map(|name| (id.to_owned(), name)));
        }
    }
    names
}

fn json(path: &Path) -> Option<Value> {
    let mut text = String::new();
    open_regular(path)?.take(MOST_NAMES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::super::fake_root::FakeRoot;
    use super::*;

    fn id(digits: &str) -> String {
        digits.repeat(ID_LENGTH)[..ID_LENGTH].to_owned()
    }

    fn found(asked: &str, root: &FakeRoot) -> Result<PathBuf, String> {
        let mut all = containers(&root.path().join("cgroups"));
        name(&mut all, root.path());
        let found = find(asked, &all)?;
        Ok(found.strip_prefix(root.path().join("cgroups")).unwrap().to_owned())
    }

    #[test]
    fn containers_are_found_by_id_and_by_name() {
        let root = FakeRoot::new("containers");
        let [web, db, pod, cri, k8s] = ["0a1b", "0a2c", "beef", "cafe", "f00d"].map(id);
        let [brief, inner, colons] = ["b1ef", "1225", "c010"].map(id);
        let [own, vfs] = ["0e11", "0f50"].map(id);
        let pod_uid = "11111111-2222-3333-4444-555555555555";
        let cgroups = [
            format!("system.slice/docker-{web}.scope/init.scope"),
            format!("docker/{db}"),
            format!("machine.slice/libpod-{pod}.scope"),
            format!("machine.slice/libpod-conmon-{pod}.scope"),
            format!(
                "kubepods.slice/kubepods-pod{}.slice/cri-containerd-{cri}.scope",
                pod_uid.replace('-', "_")
            ),
            format!("kubepods/besteffort/podaaaaaaaa-2222-3333-4444-555555555555/{k8s}"),
            "user.slice/session-1.scope".to_owned(),
            format!("machine.slice/libpod-{brief}.scope/container"),
            format!("system.slice/docker-{web}.scope/docker/{inner}"),
            format!("system.slice/x.service/kubepods-pod0.slice:cri-containerd:{colons}"),
            r"machine.slice/machine-my\x2dbox.scope/payload".to_owned(),
            "machine.slice/systemd-nspawn@other.service".to_owned(),
            "lxc.payload.jammy/init.scope".to_owned(),
            "lxc.monitor.jammy".to_owned(),
            "lxc/focal".to_owned(),
            "lxc.payload/bionic".to_owned(),
            format!("machine.slice/libpod-{brief}.scope/libpod-payload-{brief}"),
            format!("user.slice/user-7.slice/user@7.service/user.slice/libpod-{own}.scope"),
            format!("libpod_parent/libpod-{vfs}"),
        ];
        for cgroup in &cgroups {
            root.write(&format!("cgroups/{cgroup}/cgroup.procs"), b"7\n");
        }
        root.write(
            &format!("var/lib/docker/containers/{web}/config.v2.json"),
            br#"{"ID": "0a1b", "Name": "/web"}"#,
        );
        root.write(
            "var/lib/containers/storage/overlay-containers/containers.json",
            format!(r#"[{{"id": "{pod}", "names": ["api", "alias"]}}, {{"id": 7}}]"#).as_bytes(),
        );
        root.write(
            "var/lib/containers/storage/overlay-containers/volatile-containers.json",
            format!(r#"[{{"id": "{brief}", "names": ["brief"]}}]"#).as_bytes(),
        );
        root.write("etc/passwd", b"root:x:0:0::/root:/bin/sh\nme:x:7:7::/srv/me:/bin/sh\n");
        for (storage, id, name) in [
            ("srv/me/.local/share/containers/storage/overlay-containers", &own, "own"),
            ("var/lib/containers/storage/vfs-containers", &vfs, "plain"),
        ] {
            let text = format!(r#"[{{"id": "{id}", "names": ["{name}"]}}]"#);
            root.write(&format!("{storage}/containers.json"), text.as_bytes());
        }
        root.write(&format!("var/log/containers/shop-7d_prod_cart-{k8s}.log"), b"");
        for (asked, cgroup) in
            [("web", 0), ("0a1b", 0), (&db, 1), ("api", 2), ("alias", 2), ("cafe", 4)]
        {
            let expected = cgroups[cgroup].trim_end_matches("/init.scope");
            assert_eq!(found(asked, &root).as_deref(), Ok(Path::new(expected)), "{asked}");
        }
        for asked in ["cart", "shop-7d/cart", "prod/shop-7d/cart"] {
            assert_eq!(found(asked, &root).as_deref(), Ok(Path::new(&cgroups[5])), "{asked}");
        }
        for (asked, cgroup) in [
            ("brief", "machine.slice/libpod-BRIEF.scope"),
            ("b1efb1ef", "machine.slice/libpod-BRIEF.scope"),
            ("12251", "system.slice/docker-WEB.scope/docker/INNER"),
            ("c010", "system.slice/x.service/kubepods-pod0.slice:cri-containerd:COLONS"),
            ("my-box", r"machine.slice/machine-my\x2dbox.scope"),
            ("other", "machine.slice/systemd-nspawn@other.service"),
            ("jammy", "lxc.payload.jammy"),
            ("focal", "lxc/focal"),
            ("bionic", "lxc.payload/bionic"),
            ("own", "user.slice/user-7.slice/user@7.service/user.slice/libpod-OWN.scope"),
            ("plain", "libpod_parent/libpod-VFS"),
        ] {
            let ids = [("BRIEF", &brief), ("WEB", &web), ("INNER", &inner), ("COLONS", &colons)];
            let ids = ids.into_iter().chain([("OWN", &own), ("VFS", &vfs)]);
            let expected = ids.fold(cgroup.to_owned(), |it, (word, id)| it.replace(word, id));
            assert_eq!(found(asked, &root).as_deref(), Ok(Path::new(&expected)), "{asked}");
        }
        let of_pod = Path::new(&cgroups[4]).parent().unwrap();
        assert_eq!(found(pod_uid, &root).as_deref(), Ok(of_pod));
        // Whoever is in a container may call cgroups there as he likes.
        for liar in [format!("docker/{cri}"), "lxc.payload.jammy".to_owned()] {
            root.write(&format!("cgroups/docker/{db}/{liar}/cgroup.procs"), b"");
        }
        assert!(found("cafe", &root).unwrap().starts_with("kubepods.slice"));
        assert_eq!(found("jammy", &root).as_deref(), Ok(Path::new("lxc.payload.jammy")));
        let said = found("none", &root).unwrap_err();
        assert!(said.contains("cart (f00df00df00d)") && said.contains("0a2c0a2c0a2c, "), "{said}");
        let said = found("0a1", &root).unwrap_err();
        assert!(said.ends_with("; of an id, give 4 digits or more"), "{said}");
        assert!(!found("0a1c", &root).unwrap_err().contains("digits"), "there are four");
    }

    #[test]
    fn what_is_left_of_containers_that_have_ended_is_not_listed() {
        let root = FakeRoot::new("containers-ended");
        let [ended, unified, runs, inner] = ["0e0d", "0e0e", "0a0b", "0a0c"].map(id);
        let of = |id: &str, file: &str| format!("cgroups/docker/{id}/{file}");
        root.write(&of(&ended, "cgroup.procs"), b"");
        assert!(found("web", &root).unwrap_err().contains("that runs"));
        root.write(&of(&unified, "cgroup.procs"), b"");
        root.write(&of(&unified, "cgroup.events"), b"populated 0\nfrozen 0\n");
        root.write(&of(&runs, "cgroup.events"), b"populated 1\nfrozen 0\n");
        root.write(&of(&inner, "cgroup.procs"), b"");
        root.write(&of(&inner, "init.scope/cgroup.procs"), b"7\n");
        let said = found("web", &root).unwrap_err();
        assert!(said.ends_with("there are 0a0b0a0b0a0b, 0a0c0a0c0a0c"), "{said}");
        assert!(found("0a0", &root).is_err() && found("0e0d", &root).is_ok(), "it is named");
        // One of this name has come since.
        for (place, processes) in [("lxc.payload.twin", &b""[..]), ("lxc/twin", b"8\n")] {
            root.write(&format!("cgroups/{place}/cgroup.procs"), processes);
        }
        assert_eq!(found("twin", &root).as_deref(), Ok(Path::new("lxc/twin")));
    }

    #[test]
    fn what_may_be_several_is_refused() {
        let root = FakeRoot::new("containers-alike");
        for last in ["1", "2"] {
            let id = format!("{}{last}", &id("ab")[1..]);
            root.write(&format!("cgroups/docker/{id}/cgroup.procs"), b"");
        }
        assert!(found("baba", &root).unwrap_err().contains("give more of the id"));
        for cgroup in ["lxc.payload.twin", "machine.slice/machine-twin.scope"] {
            root.write(&format!("cgroups/{cgroup}/cgroup.procs"), b"");
        }
        let said = found("twin", &root).unwrap_err();
        assert!(said.contains("that may be twin, twin; give its cgroup with -G"), "{said}");
        let none = FakeRoot::new("containers-none");
        assert!(found("web", &none).unwrap_err().contains("no cgroup here"));
    }
}
