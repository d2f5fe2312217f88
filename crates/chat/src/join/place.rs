//! The socket of a session: a file that only its user can use, in a folder that only its user can enter. A socket whose
//! process was killed stays behind; nobody answers there, and the next host replaces it.

use std::fs::{self, DirBuilder, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use tertulia_session::RecordHash;
use tertulia_store::{Range, SessionId, SessionStore};

/// The maximum length of the path of a socket on every system. Linux allows 107 bytes, macOS 103.
const PATH_BYTES_MAX: usize = 103;
/// The number of characters of a name that is derived from a session.
const NAME_CHARS: usize = 24;

/// Where the socket of a session is.
#[derive(Clone, Debug)]
pub struct SocketPlace {
    /// The possible folders, best first. The host uses the first one that works, a client tries all.
    folders: Vec<PathBuf>,
    name: String,
}

/// The socket of a host. Its file is removed when this is dropped.
pub(super) struct BoundSocket {
    pub(super) listener: UnixListener,
    path: PathBuf,
    file: (u64, u64),
}

impl SocketPlace {
    /// Returns the place for a session; `None` if other processes cannot open it. `home` is the data folder.
    pub fn new(store: &SessionStore, session: &SessionId, home: Option<&Path>) -> Option<Self> {
        let location = store.location();
        // The first entry has a random salt, so it identifies the log. The location distinguishes copies of a store.
        let first = store.load(session, &Range::Numbers(vec![1])).ok()?;
        let first = first.first()?.entry.id.to_string();
        let location = match location.split_once(':')? {
            ("sqlite", path) => fs::canonicalize(path).ok()?.display().to_string(),
            // The same server can have several names.
            ("postgres" | "postgresql", address) => {
                let database = address.rsplit('/').next().unwrap_or_default();
                format!("postgres {}", database.split('?').next().unwrap_or_default())
            }
            _ => return None,
        };
        let identity = format!("{location}\n{session}\n{first}");
        let name = RecordHash::new(identity.as_bytes()).to_string();
        let name = name.chars().take(NAME_CHARS).collect();
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let runtime = runtime.filter(|folder| folder.is_absolute());
        let user = geteuid().as_raw();
        let folders = home.map(|home| home.join("run")).into_iter();
        let folders = folders.chain(runtime.map(|folder| folder.join("tertulia")));
        let folders = folders.chain([PathBuf::from(format!("/tmp/tertulia-{user}"))]);
        Some(Self { folders: folders.collect(), name })
    }

    fn path_in(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.sock", self.name))
    }

    /// Creates the socket, in place of one that a killed process left. Only the process that has locked the session may
    /// call this.
    pub(super) fn bind(&self) -> io::Result<BoundSocket> {
        let mut problem = None;
        for folder in &self.folders {
            match self.bind_in(folder) {
                Ok(bound) => return Ok(bound),
                Err(error) => problem = problem.or(Some(error)),
            }
        }
        Err(problem.unwrap_or_else(|| ErrorKind::NotFound.into()))
    }

    fn bind_in(&self, folder: &Path) -> io::Result<BoundSocket> {
        let path = self.path_in(folder);
        // Bound under another name and then renamed, so that a client never finds a socket that does not listen.
        let new = folder.join(format!("{}-{}", self.name, std::process::id()));
        if new.as_os_str().len().max(path.as_os_str().len()) > PATH_BYTES_MAX {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                "the path of the socket is too long",
            ));
        }
        make_private(folder)?;
        let _ = fs::remove_file(&new);
        let listener = UnixListener::bind(&new)?;
        let moved = fs::set_permissions(&new, PermissionsExt::from_mode(0o600))
            .and_then(|()| fs::rename(&new, &path))
            .and_then(|()| fs::symlink_metadata(&path));
        match moved {
            Ok(about) => Ok(BoundSocket { listener, path, file: (about.dev(), about.ino()) }),
            Err(error) => {
                let _ = fs::remove_file(&new);
                Err(error)
            }
        }
    }

    /// Connects to the host. Sockets without a process behind them do not count.
    pub(super) fn connect(&self) -> io::Result<UnixStream> {
        let mut problem = io::Error::from(ErrorKind::NotFound);
        for folder in &self.folders {
            let path = self.path_in(folder);
            let Ok(about) = fs::symlink_metadata(&path) else { continue };
            if !about.file_type().is_socket() || !is_private(folder) {
                continue;
            }
            match UnixStream::connect(&path)
                .and_then(|stream| of_same_user(&stream).map(|()| stream))
            {
                Ok(stream) => return Ok(stream),
                Err(error) => problem = error,
            }
        }
        Err(problem)
    }
}

impl Drop for BoundSocket {
    fn drop(&mut self) {
        // Another process may have taken the session over and put its own socket there.
        let is_ours = |about: &Metadata| (about.dev(), about.ino()) == self.file;
        if fs::symlink_metadata(&self.path).is_ok_and(|about| is_ours(&about)) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Creates a folder that only its user can enter, or checks that it is one.
fn make_private(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().recursive(true).mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let about = fs::symlink_metadata(folder)?;
    if about.is_dir() && is_own(&about) && about.mode() & 0o077 != 0 {
        fs::set_permissions(folder, PermissionsExt::from_mode(0o700))?;
    }
    match is_private(folder) {
        true => Ok(()),
        false => {
            let text = format!("{} is not a private folder of this user", folder.display());
            Err(io::Error::new(ErrorKind::PermissionDenied, text))
        }
    }
}

fn is_private(folder: &Path) -> bool {
    let about = fs::symlink_metadata(folder);
    about.is_ok_and(|about| about.is_dir() && is_own(&about) && about.mode() & 0o077 == 0)
}

fn is_own(about: &Metadata) -> bool {
    about.uid() == geteuid().as_raw()
}

/// Fails if another user is on the other side. Systems that do not report this rely on the folder alone.
pub(super) fn of_same_user(stream: &UnixStream) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let other = rustix::net::sockopt::socket_peercred(stream)?.uid;
        if other != geteuid() {
            let text = "the process on the other side belongs to another user";
            return Err(io::Error::new(ErrorKind::PermissionDenied, text));
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = stream;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(folders: &[&Path]) -> SocketPlace {
        let folders = folders.iter().map(|folder| folder.to_path_buf()).collect();
        SocketPlace { folders, name: "0123456789abcdef01234567".to_owned() }
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_socket_is_for_its_user_alone_and_removed_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("data/run");
        let place = place(&[&inside]);
        assert!(place.connect().is_err(), "nobody listens yet");
        let bound = place.bind().unwrap();
        assert_eq!((mode(&inside), mode(&bound.path)), (0o700, 0o600));
        place.connect().unwrap();
        drop(bound);
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn a_socket_that_a_killed_process_left_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(&[&folder.path().join("run")]);
        let killed = place.bind().unwrap();
        let path = killed.path.clone();
        let left = UnixListener::bind(folder.path().join("left")).unwrap();
        fs::rename(folder.path().join("left"), &path).unwrap();
        drop(left);
        assert!(place.connect().is_err(), "nobody answers there");
        let bound = place.bind().unwrap();
        place.connect().unwrap();
        // A process that lost the session does not remove the socket of its successor.
        drop(killed);
        place.connect().unwrap();
        drop(bound);
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_that_others_can_enter_is_closed_and_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (open, link) = (folder.path().join("open"), folder.path().join("link"));
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
        std::os::unix::fs::symlink(&open, &link).unwrap();
        assert!(place(&[&link]).bind().is_err());
        assert!(place(&[&link]).connect().is_err());
        let _bound = place(&[&open]).bind().unwrap();
        assert_eq!(mode(&open), 0o700);
    }

    #[test]
    fn if_a_path_is_too_long_or_a_folder_is_unusable_the_next_one_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let long = folder.path().join("x".repeat(PATH_BYTES_MAX));
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let good = folder.path().join("good");
        let place = place(&[&long, &file, &good]);
        let bound = place.bind().unwrap();
        assert!(bound.path.starts_with(&good));
        place.connect().unwrap();
    }
}
