package workspace

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

const (
	newFile      fs.FileMode = 0o644
	newDirectory fs.FileMode = 0o755
)

// writeInput are the arguments of write_file.
type writeInput struct {
	Path    string `json:"path" jsonschema:"the path of the file, relative to the working directory of the workspace"`
	Content string `json:"content" jsonschema:"the new content of the file"`
}

func (w *workspace) writeFile(ctx context.Context, in writeInput) (string, error) {
	root, err := openScope(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	if err := w.replaceFile(root, in.Path, []byte(in.Content)); err != nil {
		return "", err
	}
	return fmt.Sprintf("wrote %d bytes", len(in.Content)), nil
}

// replaceFile writes a file atomically: a crash leaves the old content or the new one. A symbolic
// link stays a link, and its target is written.
func (w *workspace) replaceFile(root *scope, name string, data []byte) error {
	if limit := w.config.fileLimit(); int64(len(data)) > limit {
		return fmt.Errorf("the content has %d bytes; max_file is %d", len(data), limit)
	}
	local, err := root.localPath(name)
	if err != nil {
		return err
	}
	if root.leadsIntoGit(local) {
		return &pathError{name, "belongs to git: its contents decide which programs git runs"}
	}
	mode, link := newFile, false
	switch info, err := root.Lstat(local); {
	case errors.Is(err, fs.ErrNotExist):
		if err := root.MkdirAll(path.Dir(local), newDirectory); err != nil {
			return fileError(name, err)
		}
	case err != nil:
		return fileError(name, err)
	case info.Mode()&fs.ModeSymlink != 0:
		link = true
	case !info.Mode().IsRegular():
		return &pathError{name, errNotRegular.Error()}
	default:
		mode = info.Mode().Perm()
	}
	if link {
		err = writeThrough(root, local, data)
	} else {
		err = swapFile(root, local, data, mode)
	}
	if err != nil {
		return fileError(name, err)
	}
	return nil
}

// writeThrough writes the target of a symbolic link.
func writeThrough(root *scope, local string, data []byte) error {
	f, err := root.OpenFile(local, os.O_WRONLY|nonblock, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errNotRegular
	default:
		if err = f.Truncate(0); err == nil {
			_, err = f.Write(data)
		}
	}
	return errors.Join(err, f.Close())
}

// swapFile writes a file beside the existing one and renames it into place.
func swapFile(root *scope, local string, data []byte, mode fs.FileMode) error {
	fresh := path.Join(path.Dir(local), "."+path.Base(local)+"."+rand.Text()+".tmp")
	f, err := root.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err == nil {
		err = root.Rename(fresh, local)
	}
	if err != nil {
		return errors.Join(err, root.Remove(fresh))
	}
	return nil
}

// editInput are the arguments of edit_file.
type editInput struct {
	Path string `json:"path" jsonschema:"the path of the file, relative to the working directory of the workspace"`
	Old  string `json:"old" jsonschema:"the text to replace, exactly as it is in the file, with enough context to be unique"`
	New  string `json:"new" jsonschema:"the replacement text"`
	All  bool   `json:"all,omitempty" jsonschema:"whether to replace every occurrence"`
}

func (w *workspace) editFile(ctx context.Context, in editInput) (string, error) {
	if in.Old == "" {
		return "", errors.New("old is empty; write_file writes a whole file")
	}
	root, err := openScope(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	data, err := readAll(root, in.Path, w.config.fileLimit())
	if err != nil {
		return "", err
	}
	places := bytes.Count(data, []byte(in.Old))
	switch {
	case places == 0:
		return "", fmt.Errorf("%s does not contain the text of old", in.Path)
	case places > 1 && !in.All:
		return "", fmt.Errorf("%s contains the text of old %d times: include more of the surrounding text, or set all", in.Path, places)
	}
	if err := w.replaceFile(root, in.Path, bytes.ReplaceAll(data, []byte(in.Old), []byte(in.New))); err != nil {
		return "", err
	}
	return fmt.Sprintf("replacements: %d", places), nil
}
