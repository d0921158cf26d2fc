//go:build linux || darwin

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// hideTyping makes a terminal show nothing of what is typed until it is restored. What is
// not a terminal stays as it is.
func hideTyping(f *os.File) (restore func()) {
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, readTermios)
	if err != nil {
		return func() {}
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	hidden.Lflag |= unix.ICANON | unix.ISIG
	if unix.IoctlSetTermios(fd, writeTermios, &hidden) != nil {
		return func() {}
	}
	return func() { _ = unix.IoctlSetTermios(fd, writeTermios, before) } // the terminal may be gone
}
