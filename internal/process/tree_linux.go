package process

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

const (
	// markName is the variable that identifies the processes of a program. Children inherit it even
	// if they leave the process group.
	markName = "RUNTIME_PROCESS_MARK"
	// maxPasses limits how often processes are listed until all have stopped.
	maxPasses = 32
)

// markProcess gives a program and its future children a unique value in their environment.
func markProcess(cmd *exec.Cmd) {
	cmd.Env = append(cmd.Env, markName+"="+rand.Text())
}

// stopTree stops all processes of a program, and returns those that have left its process group. A
// stopped process neither starts others nor leaves the group, so nothing escapes between listing
// and killing.
func stopTree(cmd *exec.Cmd) []int {
	_ = signalGroup(cmd, syscall.SIGSTOP)
	var strays []int
	for range maxPasses {
		tree := findTree(cmd)
		strays = strays[:0]
		settled := true
		for _, p := range tree {
			if !p.stopped {
				settled = false
				_ = syscall.Kill(p.pid, syscall.SIGSTOP) // it may have ended already
			}
			if p.group != cmd.Process.Pid {
				strays = append(strays, p.pid)
			}
		}
		if settled {
			break
		}
	}
	return strays
}

// killStrays kills processes that have left a program's process group.
func killStrays(strays []int) {
	for _, pid := range strays {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended already
	}
}

// proc is a live process.
type proc struct {
	pid, parent, group int
	stopped            bool
}

// findTree returns all processes of a program: its process group, those with its mark in their
// environment, and all descendants of both.
func findTree(cmd *exec.Cmd) []proc {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	marked := markOf(cmd)
	var tree []proc
	children := make(map[int][]proc)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		p, ok := readProc(pid)
		if !ok {
			continue
		}
		children[p.parent] = append(children[p.parent], p)
		if p.group == cmd.Process.Pid || hasMark(pid, marked) {
			tree = append(tree, p)
		}
	}
	return addDescendants(tree, children)
}

// addDescendants adds all descendants of the processes.
func addDescendants(tree []proc, children map[int][]proc) []proc {
	seen := make(map[int]bool, len(tree))
	for _, p := range tree {
		seen[p.pid] = true
	}
	for i := 0; i < len(tree); i++ { // the tree grows
		for _, child := range children[tree[i].pid] {
			if !seen[child.pid] {
				seen[child.pid] = true
				tree = append(tree, child)
			}
		}
	}
	return tree
}

// readProc reads a process, unless it has ended. The format is proc_pid_stat(5).
func readProc(pid int) (proc, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	// The program name is second, in parentheses, and may contain any bytes.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 3 || fields[0] == "Z" || fields[0] == "X" {
		return proc{}, false
	}
	p := proc{pid: pid, stopped: fields[0] == "T"}
	p.parent, _ = strconv.Atoi(fields[1])
	p.group, _ = strconv.Atoi(fields[2])
	return p, true
}

// markOf returns the environment entry that marks a program.
func markOf(cmd *exec.Cmd) []byte {
	for _, entry := range cmd.Env {
		if strings.HasPrefix(entry, markName+"=") {
			return []byte(entry)
		}
	}
	return nil
}

// hasMark reports whether a process was started with a mark. The environment of other users'
// processes is unreadable, and none of those is ours.
func hasMark(pid int, marked []byte) bool {
	if marked == nil {
		return false
	}
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.Equal(entry, marked) {
			return true
		}
	}
	return false
}
