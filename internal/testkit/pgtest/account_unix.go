//go:build unix

package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// account returns who the server runs as: PostgreSQL refuses root. It is nil
// where the test itself is somebody else.
func account() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil //nolint:nilnil // nothing is to be changed
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, fmt.Errorf("read the ids of user %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

// own gives a directory to the server's account.
func own(dir string) error {
	who, err := account()
	if err != nil || who == nil {
		return err
	}
	return os.Chown(dir, int(who.Uid), int(who.Gid))
}

// become makes a command run as the server's account, apart from the signals
// that a terminal sends to the test.
func become(cmd *exec.Cmd) error {
	who, err := account()
	if err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who, Setpgid: true}
	return nil
}
