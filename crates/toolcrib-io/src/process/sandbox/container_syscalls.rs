//! The filter of system calls of containers, in the format of OCI runtimes.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

/// System calls that a program in a container never has. Those that leave a process group end with the container.
const DENIED: &[&str] = &[
    "acct",
    "add_key",
    "adjtimex",
    "bpf",
    "chroot",
    "clock_adjtime",
    "clock_settime",
    "delete_module",
    "fanotify_init",
    "finit_module",
    "fremovexattr",
    "fsconfig",
    "fsetxattr",
    "fsmount",
    "fsopen",
    "fspick",
    "init_module",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "ioperm",
    "iopl",
    "kcmp",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "lookup_dcookie",
    "lremovexattr",
    "lsetxattr",
    "migrate_pages",
    "modify_ldt",
    "mount",
    "mount_setattr",
    "move_mount",
    "move_pages",
    "mq_open",
    "mq_unlink",
    "msgget",
    "name_to_handle_at",
    "nfsservctl",
    "open_by_handle_at",
    "open_tree",
    "perf_event_open",
    "pidfd_getfd",
    "pivot_root",
    "process_madvise",
    "process_mrelease",
    "process_vm_readv",
    "process_vm_writev",
    "ptrace",
    "quotactl",
    "quotactl_fd",
    "reboot",
    "removexattr",
    "request_key",
    "semget",
    "setdomainname",
    "sethostname",
    "setns",
    "settimeofday",
    "setxattr",
    "shmget",
    "swapoff",
    "swapon",
    "syslog",
    "umount2",
    "unshare",
    "userfaultfd",
    "vhangup",
];

/// The flags of `clone` for new namespaces of Linux, from `CLONE_NEWTIME` to `CLONE_NEWNET`.
const NAMESPACES: [u32; 8] =
    [0x80, 0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];

/// The families of sockets that a program has: `AF_UNIX`, `AF_INET`, `AF_INET6` and `AF_NETLINK`.
const FAMILIES: [u32; 4] = [1, 2, 10, 16];

/// The requests of `ioctl` that write into the input of a terminal: `TIOCSTI` and `TIOCLINUX`.
const TERMINAL: [u32; 2] = [0x5412, 0x541c];

/// The error numbers of Linux for what is not permitted, and for what does not exist.
const EPERM: u32 = 1;
const ENOSYS: u32 = 38;

/// Returns the filter as JSON.
fn filter() -> String {
    // The flags of `clone3` are in memory, where a filter cannot see them; libraries use `clone` without it.
    let mut rules = vec![rule(DENIED, EPERM, None), rule(&["clone3"], ENOSYS, None)];
    for flag in NAMESPACES {
        let has_flag =
            format!("\"index\":0,\"value\":{flag},\"valueTwo\":{flag},\"op\":\"SCMP_CMP_MASKED_EQ\"");
        rules.push(rule(&["clone"], EPERM, Some(&has_flag)));
    }
    let last = FAMILIES.into_iter().max().unwrap_or_default();
    for family in (0..last).filter(|family| !FAMILIES.contains(family)) {
        let is_family = format!("\"index\":0,\"value\":{family},\"op\":\"SCMP_CMP_EQ\"");
        rules.push(rule(&["socket"], EPERM, Some(&is_family)));
    }
    let is_later = format!("\"index\":0,\"value\":{last},\"op\":\"SCMP_CMP_GT\"");
    rules.push(rule(&["socket"], EPERM, Some(&is_later)));
    for request in TERMINAL {
        let is_request = format!("\"index\":1,\"value\":{request},\"op\":\"SCMP_CMP_EQ\"");
        rules.push(rule(&["ioctl"], EPERM, Some(&is_request)));
    }
    format!("{{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[\n{}\n]}}\n", rules.join(",\n"))
}

/// Returns a rule that refuses these calls, if their arguments fulfil the condition.
fn rule(names: &[&str], error: u32, condition: Option<&str>) -> String {
    let mut rule =
        format!("{{\"names\":{names:?},\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":{error},\"args\":[");
    if let Some(condition) = condition {
        let _ = write!(rule, "{{{condition}}}");
    }
    rule.push_str("]}");
    rule
}

/// Writes the filter, unless the file has it already. `name` is that of no other process.
pub(super) fn write(file: &Path, name: &str) -> io::Result<()> {
    let filter = filter();
    if fs::read(file).is_ok_and(|written| written == filter.as_bytes()) {
        return Ok(());
    }
    let new = file.with_file_name(name);
    fs::write(&new, filter)?;
    fs::rename(new, file)
}
