package pgtest

import "golang.org/x/sys/unix"

// memoryDir returns a directory whose files are kept in memory and which has room for
// the servers of several test programs; or the empty string, for that of temporary
// files. A database is 300 files, which most tests make, read once and remove.
func memoryDir() string {
	const dir, room = "/dev/shm", 4 << 30
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC || fs.Bavail*uint64(fs.Bsize) < room {
		return ""
	}
	return dir
}
