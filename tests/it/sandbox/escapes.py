"""Tries to leave a sandbox in many ways, and prints which of them succeeded, as one JSON object.

The arguments are one JSON object: paths, ports and processes outside, and the names of the ways that are allowed here.
Each way runs in a process of its own, which ends with status 0 only if the way leads out.
"""

import ctypes
import json
import os
import shutil
import signal
import socket
import struct
import sys
import time

T = json.loads(sys.argv[1])
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
OUT, WORK = T["outside"], T["work"]
PARENT = os.getppid()
# A sandbox has a folder for temporary files; without one, all of the workspace can be written.
WRITABLE = os.environ.get("TMPDIR", WORK)
SECRET = os.path.join(OUT, "secret.txt")
WAYS = []


def way(function):
    WAYS.append(function)
    return function


def call(number, *arguments):
    """A system call that must succeed."""
    result = LIBC.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def long(value):
    return ctypes.c_long(value)


def has_secret(path):
    with open(path, "rb") as file:
        return b"secret" in file.read()


def inside(name):
    path = os.path.join(WRITABLE, name)
    if os.path.lexists(path):
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)
    return path


# Reading

@way
def read_outside():
    return has_secret(SECRET)

@way
def read_with_dots():
    return has_secret(os.path.join(WORK, "..", "outside", "secret.txt"))

@way
def read_by_own_symlink():
    os.symlink(SECRET, inside("link"))
    return has_secret(os.path.join(WRITABLE, "link"))

@way
def read_by_planted_symlink():
    return has_secret(os.path.join(WORK, "planted"))

@way
def read_by_hard_link():
    os.link(SECRET, inside("hard"))
    return has_secret(os.path.join(WRITABLE, "hard"))

@way
def read_by_rename():
    os.rename(os.path.join(OUT, "moved.txt"), inside("moved"))
    return has_secret(os.path.join(WRITABLE, "moved"))

@way
def read_by_exchange():
    with open(inside("swap"), "w") as file:
        file.write("x")
    path = os.path.join(OUT, "swap.txt").encode()
    call(316, long(-100), path, long(-100), os.path.join(WRITABLE, "swap").encode(), long(2))
    return has_secret(os.path.join(WRITABLE, "swap"))

@way
def read_by_root_of_proc():
    return has_secret("/proc/self/root" + SECRET)

@way
def read_by_working_directory_of_another():
    return has_secret(f"/proc/{T['victim']}/cwd/secret.txt")

@way
def read_by_path_descriptor():
    folder = os.open(OUT, os.O_PATH)
    return b"secret" in os.read(os.open("secret.txt", os.O_RDONLY, dir_fd=folder), 100)

@way
def read_by_path_descriptor_of_proc():
    file = os.open(SECRET, os.O_PATH)
    return has_secret(f"/proc/self/fd/{file}")

@way
def read_by_inherited_descriptor():
    return b"secret" in os.pread(9, 100, 0)

@way
def list_outside():
    return "secret.txt" in os.listdir(OUT)

@way
def read_home_of_the_user():
    return has_secret(os.path.join(T["home"], ".ssh/id_ed25519"))

@way
def read_app_file():
    with open(T["app"]) as file:
        return "registry" in file.read()

@way
def read_shadow():
    with open("/etc/shadow") as file:
        return "root" in file.read()

@way
def read_environment_of_another():
    with open(f"/proc/{T['victim']}/environ", "rb") as file:
        return b"VICTIM_KEY" in file.read()

@way
def read_command_line_of_another():
    with open(f"/proc/{T['victim']}/cmdline", "rb") as file:
        return len(file.read()) > 0

@way
def read_memory_of_another():
    with open(f"/proc/{T['victim']}/mem", "rb"):
        return True

@way
def read_environment_of_toolcrib():
    with open(f"/proc/{PARENT}/environ", "rb") as file:
        return len(file.read()) > 0

@way
def read_by_handle():
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    call(303, long(-100), SECRET.encode(), handle, ctypes.byref(mount), long(0))
    folder = os.open(OUT, os.O_RDONLY)
    return b"secret" in os.read(call(304, long(folder), handle, long(0)), 100)

# Writing

@way
def create_outside():
    with open(os.path.join(OUT, "created.txt"), "w") as file:
        return file.write("x") == 1

@way
def append_outside():
    with open(os.path.join(OUT, "append.txt"), "a") as file:
        return file.write("x") == 1

@way
def truncate_outside():
    os.truncate(os.path.join(OUT, "truncate.txt"), 0)
    return True

@way
def truncate_by_opening():
    os.close(os.open(os.path.join(OUT, "truncate.txt"), os.O_RDONLY | os.O_TRUNC))
    return os.path.getsize(os.path.join(OUT, "truncate.txt")) == 0

@way
def remove_outside():
    os.remove(os.path.join(OUT, "remove.txt"))
    return True

@way
def make_folder_outside():
    os.mkdir(os.path.join(OUT, "folder"))
    return True

@way
def remove_folder_outside():
    os.rmdir(os.path.join(OUT, "empty"))
    return True

@way
def rename_to_outside():
    with open(inside("leaves"), "w") as file:
        file.write("x")
    os.rename(os.path.join(WRITABLE, "leaves"), os.path.join(OUT, "left.txt"))
    return True

@way
def rename_outside():
    os.rename(os.path.join(OUT, "rename.txt"), os.path.join(OUT, "renamed.txt"))
    return True

@way
def link_to_outside():
    with open(inside("linked"), "w") as file:
        file.write("x")
    os.link(os.path.join(WRITABLE, "linked"), os.path.join(OUT, "linked.txt"))
    return True

@way
def symlink_outside():
    os.symlink("/", os.path.join(OUT, "symlink"))
    return True

@way
def write_by_symlink():
    os.symlink(os.path.join(OUT, "by_symlink.txt"), inside("writes"))
    with open(os.path.join(WRITABLE, "writes"), "w") as file:
        return file.write("x") == 1

@way
def write_app_file():
    with open(T["app"], "a") as file:
        return file.write("\n") == 1

@way
def write_temporary_folder_of_all():
    with open(os.path.join(T["shared"], f"toolcrib-{os.getpid()}"), "w") as file:
        os.remove(file.name)
        return True

@way
def write_shared_memory():
    with open(f"/dev/shm/toolcrib-{os.getpid()}", "w") as file:
        os.remove(file.name)
        return True

@way
def write_setting_of_the_kernel():
    with open("/proc/sys/vm/overcommit_memory") as file:
        value = file.read()
    with open("/proc/sys/vm/overcommit_memory", "w") as file:
        return file.write(value) > 0

@way
def leave_control_group():
    with open("/sys/fs/cgroup/pids/cgroup.procs", "w") as file:
        return file.write(str(os.getpid())) > 0

@way
def make_device():
    os.mknod(inside("null"), 0o600 | 0o020000, os.makedev(1, 3))
    return True

@way
def set_attribute_outside():
    os.setxattr(os.path.join(OUT, "append.txt"), "user.toolcrib", b"x")
    return True

@way
def change_mode_outside():
    os.chmod(os.path.join(OUT, "append.txt"), 0o777)
    return True

@way
def change_times_outside():
    os.utime(os.path.join(OUT, "append.txt"), (1, 1))
    return True

@way
def change_owner_outside():
    os.chown(os.path.join(OUT, "append.txt"), 1234, 1234)
    return True

# The network

@way
def connect_by_tcp():
    socket.create_connection(("127.0.0.1", T["tcp"]), 5).close()
    return True

@way
def connect_by_fast_open():
    with socket.socket() as end:
        end.settimeout(5)
        return end.sendto(b"x", socket.MSG_FASTOPEN, ("127.0.0.1", T["tcp"])) == 1

@way
def connect_by_multipath_tcp():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as end:
        end.settimeout(5)
        end.connect(("127.0.0.1", T["tcp"]))
        return True

@way
def send_by_udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        return end.sendto(b"x", ("127.0.0.1", T["udp"])) == 1

@way
def send_by_udp_6():
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as end:
        return end.sendto(b"x", ("::1", T["udp"])) == 1

@way
def listen_by_tcp():
    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))
        end.listen()
        return True

@way
def send_raw():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()
    return True

@way
def listen_to_packets():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)).close()
    return True

@way
def connect_to_path_socket():
    with socket.socket(socket.AF_UNIX) as end:
        end.connect(os.path.join(OUT, "stream"))
        return True

@way
def connect_to_abstract_socket():
    with socket.socket(socket.AF_UNIX) as end:
        end.connect("\0" + T["abstract"])
        return True

@way
def send_to_path_socket_by_a_pair():
    end, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    return end.sendto(b"x", os.path.join(OUT, "datagram")) == 1

@way
def talk_to_the_host_of_the_machine():
    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()
    return True

@way
def use_crypto_sockets():
    socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET).close()
    return True

# Other processes

@way
def signal_another():
    os.kill(T["victim"], signal.SIGUSR1)
    return True

@way
def signal_toolcrib():
    os.kill(PARENT, 0)
    return True

@way
def signal_another_by_descriptor():
    signal.pidfd_send_signal(os.pidfd_open(T["victim"]), signal.SIGUSR1)
    return True

@way
def trace_another():
    call(101, long(0x4206), long(T["victim"]), long(0), long(0))
    call(101, long(17), long(T["victim"]), long(0), long(0))
    return True

@way
def trace_itself():
    return call(101, long(0), long(0), long(0), long(0)) == 0

@way
def read_memory_by_call():
    buffer = ctypes.create_string_buffer(8)
    here = struct.pack("QQ", ctypes.addressof(buffer), 8)
    there = struct.pack("QQ", T["address"], 8)
    return call(310, long(T["victim"]), here, long(1), there, long(1), long(0)) == 8

@way
def take_descriptor_of_another():
    return call(438, long(os.pidfd_open(T["victim"])), long(1), long(0)) >= 0

@way
def limit_another():
    return call(302, long(T["victim"]), long(4), struct.pack("QQ", 0, 2**64 - 1), None) == 0

@way
def slow_another():
    os.setpriority(os.PRIO_PROCESS, T["victim"], 19)
    return True

@way
def move_another_to_one_processor():
    os.sched_setaffinity(T["victim"], {0})
    return True

@way
def bomb():
    children = []
    try:
        for _ in range(T["bomb"]):
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            children.append(child)
        return True
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

@way
def leave_a_process_in_a_session():
    # The test looks for what is left.
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for stream in (0, 1, 2):
                os.close(stream)
            os.execve(shutil.which("sleep"), ["sleep", T["leftover"]], {})
        os._exit(0)
    return False

@way
def leave_a_process():
    if os.fork() == 0:
        for stream in (0, 1, 2):
            os.close(stream)
        os.execve(shutil.which("sleep"), ["sleep", T["leftover"]], {})
    return False

@way
def leave_group():
    if os.fork() == 0:
        os._exit(0 if os.setpgid(0, 0) is None else 1)
    return os.wait()[1] == 0

@way
def use_semaphores():
    return call(64, long(0), long(1), long(0o1600)) >= 0

@way
def use_shared_memory():
    return call(29, long(0), long(4096), long(0o1600)) >= 0

@way
def use_message_queues():
    return call(68, long(0), long(0o1600)) >= 0

# The kernel

@way
def use_io_uring():
    return call(425, long(4), ctypes.create_string_buffer(256)) >= 0

@way
def mount():
    folder = inside("mount")
    os.mkdir(folder)
    call(165, b"none", folder.encode(), b"tmpfs", long(0), None)
    return call(166, folder.encode(), long(2)) == 0

@way
def bind_outside():
    folder = inside("bound")
    os.mkdir(folder)
    call(165, OUT.encode(), folder.encode(), None, long(4096), None)
    found = has_secret(os.path.join(folder, "secret.txt"))
    call(166, folder.encode(), long(2))
    return found

@way
def open_tree():
    return call(428, long(-100), OUT.encode(), long(1)) >= 0

@way
def new_user_namespace():
    return call(272, long(0x10000000)) == 0

@way
def new_user_namespace_by_clone():
    child = call(56, long(0x10000000 | signal.SIGCHLD), None, None, None, None)
    if child == 0:
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0

@way
def new_mount_namespace_by_clone3():
    arguments = struct.pack("8Q", 0x10020000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    child = call(435, ctypes.create_string_buffer(arguments), long(64))
    if child == 0:
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0

@way
def enter_namespace_of_another():
    return call(308, long(os.pidfd_open(T["victim"])), long(0x00020000)) == 0

@way
def change_root():
    os.chroot(WRITABLE)
    return True

@way
def load_bpf():
    attributes = struct.pack("IIII", 1, 4, 4, 1) + bytes(56)
    return call(321, long(0), ctypes.create_string_buffer(attributes), long(72)) >= 0

@way
def watch_performance():
    attributes = struct.pack("IIQ", 1, 112, 0) + bytes(96)
    return call(298, ctypes.create_string_buffer(attributes), long(0), long(-1), long(-1), long(0)) >= 0

@way
def use_keys():
    return call(250, long(0), long(-3), long(1)) >= 0

@way
def handle_page_faults():
    return call(323, long(0)) >= 0

@way
def watch_all_files():
    return call(300, long(0), long(0)) >= 0

@way
def change_host_name():
    name = os.uname().nodename.encode()
    return call(170, name, long(len(name))) == 0

@way
def read_log_of_the_kernel():
    return call(103, long(3), ctypes.create_string_buffer(64), long(64)) >= 0

@way
def use_ports_of_devices():
    return call(173, long(0x80), long(1), long(1)) == 0

@way
def use_call_that_is_not_known():
    return call(468, long(-100), SECRET.encode(), ctypes.create_string_buffer(64), long(24), long(0)) == 0


def attempt(function):
    """Runs a way in a process; true if it leads out."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(20)
            code = 0 if function() else 1
        except BaseException as error:
            if T.get("verbose"):
                print(function.__name__, repr(error), file=sys.stderr)
        os._exit(code)
    return os.waitpid(child, 0)[1] == 0


print(json.dumps({function.__name__: attempt(function) for function in WAYS}))
