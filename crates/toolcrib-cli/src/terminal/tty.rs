//! Standard input as a terminal.

use std::fs::File;
use std::io;

/// The device that a keyboard reads.
pub(super) trait Input: Send + Sync {
    /// Waits until something can be read.
    fn wait(&self) -> io::Result<()>;

    /// Returns true if something can be read now.
    fn is_ready(&self) -> io::Result<bool>;

    fn read(&self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Discards what was typed and not read.
    fn discard(&self) -> io::Result<()>;
}

/// Opens standard input.
pub(super) fn stdin() -> io::Result<Box<dyn Input>> {
    Ok(Box::new(imp::stdin()?))
}

#[cfg(all(test, unix))]
pub(super) fn open(terminal: File) -> Box<dyn Input> {
    Box::new(Terminal(terminal))
}

/// Standard input that is a terminal.
struct Terminal(File);

#[cfg(unix)]
mod imp {
    use std::fs::File;
    use std::io::{self, Read as _};
    use std::os::fd::AsFd as _;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::termios::{QueueSelector, tcflush};

    use super::Terminal;

    pub(super) fn stdin() -> io::Result<Terminal> {
        io::stdin().as_fd().try_clone_to_owned().map(|input| Terminal(File::from(input)))
    }

    impl Terminal {
        fn poll(&self, patience: Option<&Timespec>) -> io::Result<bool> {
            match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], patience) {
                Err(rustix::io::Errno::INTR) => Ok(false),
                count => Ok(count? > 0),
            }
        }
    }

    impl super::Input for Terminal {
        fn wait(&self) -> io::Result<()> {
            self.poll(None).map(drop)
        }

        fn is_ready(&self) -> io::Result<bool> {
            self.poll(Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))
        }

        fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
            (&self.0).read(buffer)
        }

        fn discard(&self) -> io::Result<()> {
            Ok(tcflush(&self.0, QueueSelector::IFlush)?)
        }
    }
}

#[cfg(not(unix))]
mod imp {
    //! Input that can only be read. The reader blocks in `read`, which only the chat prompt uses here.

    use std::fs::File;
    use std::io::{self, Read as _};
    use std::os::windows::io::AsHandle as _;

    use super::Terminal;

    pub(super) fn stdin() -> io::Result<Terminal> {
        io::stdin().as_handle().try_clone_to_owned().map(|input| Terminal(File::from(input)))
    }

    impl super::Input for Terminal {
        fn wait(&self) -> io::Result<()> {
            Ok(())
        }

        fn is_ready(&self) -> io::Result<bool> {
            Ok(true)
        }

        fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
            (&self.0).read(buffer)
        }

        fn discard(&self) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }
}
