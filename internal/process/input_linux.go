package process

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// largeInput returns a file in memory that holds data. It needs no disk, which
// may be full or read-only, and nothing of it is left when it is closed.
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
