package process

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// largeInput returns an in-memory file that holds data. It needs no disk, which may be full or
// read-only, and leaves nothing behind when closed.
func largeInput(data []byte) (io.ReadCloser, error) {
	fd, err := unix.MemfdCreate("input", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "input")
	_, err = f.Write(data)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
