package pgtest

import "golang.org/x/sys/unix"

// memoryDir returns an in-memory directory with room for the servers of several test programs, or
// "" for the default temporary directory. A database consists of 300 files, which most tests
// create, read once and remove.
func memoryDir() string {
	const dir, room = "/dev/shm", 4 << 30
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC || fs.Bavail*uint64(fs.Bsize) < room {
		return ""
	}
	return dir
}
