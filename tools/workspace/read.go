package workspace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
)

// sniffed is how much of a file is checked for binary data, in bytes.
const sniffed = 8000

// readInput are the arguments of read_file.
type readInput struct {
	Path   string `json:"path" jsonschema:"the path of the file, relative to the working directory of the workspace"`
	Offset int    `json:"offset,omitempty" jsonschema:"the number of the first line, from 1"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many lines to read; all that fit by default"`
}

func (w *workspace) readFile(ctx context.Context, in readInput) (string, error) {
	root, err := openScope(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	f, err := openFile(root, in.Path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	text, err := readLines(&heedingReader{ctx, f}, max(in.Offset, 1), in.Limit, w.config.outputLimit())
	if err != nil {
		return "", fileError(in.Path, err)
	}
	return text, nil
}

// openFile opens a regular file for reading. It never blocks on other kinds, such as a pipe.
func openFile(root *scope, name string) (*os.File, error) {
	local, err := root.localPath(name)
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(local, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, fileError(name, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = errors.New("is a directory; list_files lists it")
	case !info.Mode().IsRegular():
		err = errNotRegular
	default:
		return f, nil
	}
	_ = f.Close()
	return nil, fileError(name, err)
}

// errNotRegular reports a directory, a pipe, a device or a socket.
var errNotRegular = errors.New("is not a regular file")

// heedingReader fails once a context has ended, so that reading a huge file stops when its caller
// no longer waits.
type heedingReader struct {
	ctx context.Context //nolint:containedctx // that of the call that reads
	r   io.Reader
}

// Read reads unless the context has ended.
func (h *heedingReader) Read(p []byte) (int, error) {
	if err := h.ctx.Err(); err != nil {
		return 0, err
	}
	return h.r.Read(p)
}

// errBinary reports a file that is not text.
var errBinary = errors.New("the file is not text")

// readLines returns the lines of a text from line first, as many as fit, with a note if there are
// more.
func readLines(r io.Reader, first, count, room int) (string, error) {
	lines := bufio.NewReader(r)
	if head, err := lines.Peek(sniffed); bytes.IndexByte(head, 0) >= 0 {
		return "", errBinary
	} else if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return "", err
	}
	var b strings.Builder
	number := 0
	for {
		line, err := readLine(lines, room+1)
		if line == "" && err != nil {
			if !errors.Is(err, io.EOF) {
				return "", err
			}
			break
		}
		number++
		switch {
		case number < first:
		case count > 0 && number >= first+count, b.Len()+len(line) > room && b.Len() > 0:
			return b.String() + fmt.Sprintf("[more lines follow: continue with offset %d]", number), nil
		case len(line) > room:
			return clip.Head(line, room) + fmt.Sprintf("\n[line %d is cut]", number), nil
		default:
			b.WriteString(line)
		}
	}
	switch {
	case number == 0:
		return "[the file is empty]", nil
	case number < first:
		return "", fmt.Errorf("the file has %d lines; offset is %d", number, first)
	}
	return b.String(), nil
}

// readLine reads a line with its line ending, but at most limit bytes.
func readLine(r *bufio.Reader, limit int) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if room := limit - len(line); room > 0 {
			line = append(line, part[:min(len(part), room)]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return string(line), err
		}
	}
}

// readAll returns the whole of a text file, unless it is larger than the limit.
func readAll(root *scope, name string, limit int64) ([]byte, error) {
	f, err := openFile(root, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
	case int64(len(data)) > limit:
		err = fmt.Errorf("the file has more than %d bytes", limit)
	case bytes.IndexByte(data[:min(len(data), sniffed)], 0) >= 0:
		err = errBinary
	default:
		return data, nil
	}
	return nil, fileError(name, err)
}
