// Package sandbox starts programs without a network and isolated from all other processes. It uses
// only the standard library, so that it is initialized before other packages.
package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
)

const (
	// name is the name under which this program starts itself in a sandbox.
	name = "agentruntime-sandbox"
	// exitNotStarted is the exit code if the program did not start, as in a shell.
	exitNotStarted = 126

	capSetGID, capSetUID, capSysAdmin = 6, 7, 21
	prCapAmbient, prCapAmbientClear   = 47, 4
)

// Isolate changes an unstarted program that has its SysProcAttr: it runs in a network namespace
// without devices, sees no other processes in /proc and can signal none, and when it exits the
// system kills everything it started. Without root this requires a user namespace, in which the
// program keeps its user and group. The program is started through a copy of this one.
func Isolate(cmd *exec.Cmd) {
	uid, gid := os.Geteuid(), os.Getegid()
	attr := cmd.SysProcAttr
	attr.Cloneflags |= syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS
	if uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.AmbientCaps = append(attr.AmbientCaps, capSetGID, capSetUID, capSysAdmin)
	}
	cmd.Args = append([]string{name, strconv.Itoa(uid), strconv.Itoa(gid), cmd.Path}, cmd.Args...)
	cmd.Path = "/proc/self/exe"
}

// init takes over if Isolate started this program.
func init() { //nolint:gochecknoinits // it must run before everything else of the program
	if len(os.Args) > 4 && os.Args[0] == name {
		err := startProgram(os.Args[1], os.Args[2], os.Args[3], os.Args[4:])
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[4], err)
		os.Exit(exitNotStarted)
	}
}

// startProgram prepares the namespaces, drops the rights this required, and replaces this program.
// It returns only on failure.
func startProgram(uid, gid, path string, args []string) error {
	runtime.LockOSThread() // rights belong to threads
	if uid != "0" {
		// A program that hides its memory cannot write its children's maps.
		for file, text := range map[string]string{"setgroups": "deny", "uid_map": uid + " " + uid + " 1"} {
			if err := os.WriteFile("/proc/self/"+file, []byte(text), 0); err != nil {
				return err
			}
		}
		if err := os.WriteFile("/proc/self/gid_map", []byte(gid+" "+gid+" 1"), 0); err != nil {
			return err
		}
	}
	if err := mountProc(); err != nil {
		return fmt.Errorf("this system cannot hide other processes; only network: host allows programs here: %w", err)
	}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prCapAmbient, prCapAmbientClear, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return syscall.Exec(path, args, os.Environ()) //nolint:gosec // the configuration allows the program
}

// mountProc replaces /proc with that of this namespace, or hides it if a container with masked
// parts of /proc does not allow that.
func mountProc() error {
	const flags = syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	_ = syscall.Unmount("/proc", syscall.MNT_DETACH) // only root may, and could also unmask it
	if syscall.Mount("proc", "/proc", "proc", flags, "") == nil {
		return nil
	}
	return syscall.Mount("tmpfs", "/proc", "tmpfs", flags|syscall.MS_RDONLY, "size=4k")
}
