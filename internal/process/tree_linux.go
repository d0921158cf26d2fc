package process

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

const (
	// markName is the variable by which the processes of a program are known.
	// Children inherit it even when they leave the process group.
	markName = "RUNTIME_PROCESS_MARK"
	// maxPasses bounds how often processes are listed that fork while they are
	// being killed.
	maxPasses = 16
)

// mark gives a program, and all that it will start, a value of their own in the
// environment.
func mark(cmd *exec.Cmd) {
	cmd.Env = append(cmd.Env, markName+"="+rand.Text())
}

// killStrays kills processes that have left the process group of a program, and
// then those that they started meanwhile. It returns when none is left, or when
// new ones keep coming.
func killStrays(cmd *exec.Cmd, strays []int) {
	for range maxPasses {
		if len(strays) == 0 {
			return
		}
		for _, pid := range strays {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
		}
		strays = findStrays(cmd)
	}
}

// findStrays returns the processes that a program started and that have left its
// process group: those with its mark in their environment, and all descendants
// of those and of the group.
func findStrays(cmd *exec.Cmd) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	marked := markOf(cmd)
	var tree []int
	inGroup := make(map[int]bool)
	children := make(map[int][]int)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		parent, group, alive := readStat(pid)
		if !alive {
			continue
		}
		children[parent] = append(children[parent], pid)
		inGroup[pid] = group == cmd.Process.Pid
		if inGroup[pid] || hasMark(pid, marked) {
			tree = append(tree, pid)
		}
	}
	return slices.DeleteFunc(addDescendants(tree, children), func(pid int) bool { return inGroup[pid] })
}

// addDescendants adds to processes all that they have started.
func addDescendants(tree []int, children map[int][]int) []int {
	seen := make(map[int]bool, len(tree))
	for _, pid := range tree {
		seen[pid] = true
	}
	for i := 0; i < len(tree); i++ { // the tree grows
		for _, child := range children[tree[i]] {
			if !seen[child] {
				seen[child] = true
				tree = append(tree, child)
			}
		}
	}
	return tree
}

// readStat returns the parent and the process group of a process that has not
// ended. The format is that of proc_pid_stat(5).
func readStat(pid int) (parent, group int, alive bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, false
	}
	// The name of the program comes second, in parentheses, and may have any
	// bytes in it.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 3 || fields[0] == "Z" || fields[0] == "X" {
		return 0, 0, false
	}
	parent, _ = strconv.Atoi(fields[1])
	group, _ = strconv.Atoi(fields[2])
	return parent, group, true
}

// markOf returns the entry of the environment that marks a program.
func markOf(cmd *exec.Cmd) []byte {
	for _, entry := range cmd.Env {
		if strings.HasPrefix(entry, markName+"=") {
			return []byte(entry)
		}
	}
	return nil
}

// hasMark reports whether a process was started with a mark. The environment of
// other users' processes cannot be read, and none of those is ours.
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
