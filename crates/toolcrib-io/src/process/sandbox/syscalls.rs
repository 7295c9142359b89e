//! The filter of system calls: what Landlock does not cover, and what no tool needs.

use std::collections::BTreeMap;

use seccompiler::SeccompCmpArgLen::{Dword, Qword};
use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};

use super::SandboxNetwork;

/// The number of the first system call that this filter does not know. It and all later ones do not exist for the program.
/// The calls of the ABI `x32` have larger numbers, too.
const FIRST_UNKNOWN: u32 = 463;

/// System calls that the program never has: they reach other processes, the kernel, mounts, or the network around the rules.
const DENIED: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_migrate_pages,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_move_pages,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_msgget,
    libc::SYS_name_to_handle_at,
    libc::SYS_nfsservctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_semget,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_shmget,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    // Its processes stay in one group, which is killed as a whole.
    libc::SYS_setpgid,
    libc::SYS_setsid,
    // Access control lists can give a file to others, wherever it is.
    libc::SYS_fremovexattr,
    libc::SYS_fsetxattr,
    libc::SYS_lremovexattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_setxattr,
];

/// The same, on processors of the x86 family.
#[cfg(target_arch = "x86_64")]
const DENIED_HERE: &[i64] = &[libc::SYS_ioperm, libc::SYS_iopl, libc::SYS_modify_ldt];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_HERE: &[i64] = &[];

/// System calls that change the mode, the owner or the times of a file. Landlock does not restrict them.
const MODES: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
];

#[cfg(target_arch = "x86_64")]
const MODES_HERE: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_futimesat,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
];
#[cfg(not(target_arch = "x86_64"))]
const MODES_HERE: &[i64] = &[];

/// System calls that set limits and priorities, with the argument that names the process; 0 is the caller itself.
const OF_PROCESSES: &[(i64, u8)] = &[
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_prlimit64, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_setpriority, 1),
];

/// The requests of `ioctl` that write to the input of a terminal: `TIOCSTI` and `TIOCLINUX`, whose type in `libc` depends on
/// the C library.
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541c];

/// The flags of `clone` for new namespaces.
const NAMESPACES: [libc::c_int; 8] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWTIME,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// The bits of a socket's type that are not flags.
const SOCKET_TYPE: u64 = 0xf;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The restrictions of a program that the filter enforces.
#[derive(Debug)]
pub(super) struct SyscallRules {
    pub(super) network: SandboxNetwork,
    pub(super) can_change_modes: bool,
}

impl SyscallRules {
    /// Returns the filters, in the order in which they are applied.
    pub(super) fn filters(&self) -> Result<Vec<BpfProgram>, String> {
        let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
        let filter = |rules, errno: i32| -> Result<BpfProgram, String> {
            let action = SeccompAction::Errno(errno.unsigned_abs());
            let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, architecture);
            filter.and_then(TryInto::try_into).map_err(|error| error.to_string())
        };
        // The flags of `clone3` are in memory, where a filter cannot see them; libraries use `clone` without it.
        let absent = Rules::from([(libc::SYS_clone3, Vec::new())]);
        Ok(vec![
            only_known(),
            filter(absent, libc::ENOSYS)?,
            filter(self.denied().map_err(|e| e.to_string())?, libc::EPERM)?,
        ])
    }

    /// Applies the filters to this process. It cannot gain privileges any more.
    pub(super) fn apply(&self) -> Result<(), String> {
        self.filters()?.iter().try_for_each(|filter| apply_filter(filter).map_err(|error| error.to_string()))
    }

    fn denied(&self) -> Result<Rules, seccompiler::BackendError> {
        let mut rules = Rules::new();
        let modes = [MODES, MODES_HERE].concat();
        let modes = if self.can_change_modes { &[][..] } else { &modes };
        for call in DENIED.iter().chain(DENIED_HERE).chain(modes) {
            rules.insert(*call, Vec::new());
        }
        for (call, argument) in OF_PROCESSES {
            rules.insert(*call, vec![rule([when(*argument, Dword, Ne, 0)?])?]);
        }
        let namespace = |flag: &libc::c_int| {
            let flag = u64::from(flag.unsigned_abs());
            rule([when(0, Qword, MaskedEq(flag), flag)?])
        };
        rules.insert(libc::SYS_clone, NAMESPACES.iter().map(namespace).collect::<Result<_, _>>()?);
        let terminal = |request: &u64| rule([when(1, Dword, Eq, *request)?]);
        rules.insert(libc::SYS_ioctl, TERMINAL_INPUT.iter().map(terminal).collect::<Result<_, _>>()?);
        self.sockets(&mut rules)?;
        Ok(rules)
    }

    /// Sockets reach what files do not: hosts, and services of this machine, such as that of containers.
    fn sockets(&self, rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
        let (inet, inet6, netlink) =
            (number(libc::AF_INET), number(libc::AF_INET6), number(libc::AF_NETLINK));
        let (domain, kind, protocol) = (0, 1, 2);
        // A pair of datagram sockets could also send to the sockets of others.
        rules.insert(
            libc::SYS_socketpair,
            vec![
                rule([when(domain, Dword, Ne, number(libc::AF_UNIX))?])?,
                rule([when(kind, Dword, MaskedEq(SOCKET_TYPE), number(libc::SOCK_DGRAM))?])?,
            ],
        );
        let ports = self.network.ports();
        if ports.as_ref().is_some_and(Vec::is_empty) {
            rules.insert(libc::SYS_socket, Vec::new());
            return Ok(());
        }
        let known = [
            when(domain, Dword, Ne, inet)?,
            when(domain, Dword, Ne, inet6)?,
            when(domain, Dword, Ne, netlink)?,
        ];
        let mut sockets =
            vec![rule(known)?, rule([when(domain, Dword, Eq, netlink)?, when(protocol, Dword, Ne, 0)?])?];
        if ports.is_some() {
            // Landlock knows the ports of TCP alone.
            for internet in [inet, inet6] {
                for other in (0..=SOCKET_TYPE).filter(|kind| *kind != number(libc::SOCK_STREAM)) {
                    let is_other = when(kind, Dword, MaskedEq(SOCKET_TYPE), other)?;
                    sockets.push(rule([when(domain, Dword, Eq, internet)?, is_other])?);
                }
                sockets.push(rule([
                    when(domain, Dword, Eq, internet)?,
                    when(protocol, Dword, Ne, 0)?,
                    when(protocol, Dword, Ne, number(libc::IPPROTO_TCP))?,
                ])?);
            }
            // This flag connects while it sends.
            let fast_open = number(libc::MSG_FASTOPEN);
            for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
                rules.insert(call, vec![rule([when(flags, Dword, MaskedEq(fast_open), fast_open)?])?]);
            }
        }
        rules.insert(libc::SYS_socket, sockets);
        Ok(())
    }
}

fn number(value: libc::c_int) -> u64 {
    u64::from(value.unsigned_abs())
}

fn when(
    argument: u8,
    length: SeccompCmpArgLen,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, length, operator, value)
}

fn rule<const N: usize>(conditions: [SeccompCondition; N]) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(conditions.into())
}

/// Returns a filter with which calls beyond [`FIRST_UNKNOWN`] do not exist.
fn only_known() -> BpfProgram {
    let load_number = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let if_not_less = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
    let end = libc::BPF_RET | libc::BPF_K;
    let instruction = |code: u32, jt, jf, k| {
        let code = u16::try_from(code).unwrap_or_default();
        sock_filter { code, jt, jf, k }
    };
    let no_such_call = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    vec![
        instruction(load_number, 0, 0, 0),
        instruction(if_not_less, 0, 1, FIRST_UNKNOWN),
        instruction(end, 0, 0, no_such_call),
        instruction(end, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}
