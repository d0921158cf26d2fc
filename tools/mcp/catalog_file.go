package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// errNoCatalog reports that no catalog exists yet.
var errNoCatalog = errors.New("no catalog yet")

// readCatalog reads a catalog created with the settings of a fingerprint. The error is
// errNoCatalog if the file does not exist; otherwise it explains why the file cannot be used.
func readCatalog(name, fingerprint string) (*catalog, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoCatalog
	}
	if err != nil {
		return nil, withoutPath(err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxCatalog+1))
	if err != nil {
		return nil, withoutPath(err)
	}
	c, err := decodeCatalog(data)
	if err != nil {
		return nil, err
	}
	if c.Fingerprint != fingerprint {
		return nil, errors.New("it was made for other settings of the entry")
	}
	return c, nil
}

// writeCatalog writes a catalog atomically: readers find the old one or the new
// one. An unchanged file is left alone.
func writeCatalog(name string, c *catalog) error {
	data, err := c.encodeFile()
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, data) { //nolint:gosec // the configuration names the file
		return nil
	}
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // it holds nothing secret, and is made to be committed
		return withoutPath(err)
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(name)+".*")
	if err != nil {
		return withoutPath(err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return withoutPath(err)
	}
	return nil
}

// withoutPath removes the path from an error; the caller reports it.
func withoutPath(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("replace the file: %w", link.Err)
	}
	return err
}
