package cli

import (
	"crypto/sha256"
	"io"
	"maps"
	"os"
	"time"

	"github.com/agentruntime/agentruntime/config"
)

const (
	// watchInterval is the interval between checks of the files.
	watchInterval = time.Second
	// maxWatched limits the bytes read of a file.
	maxWatched = 16 << 20
)

// fingerprint is the hash of a file's content.
type fingerprint [sha256.Size]byte

// watch detects changed files by their content, because a file may be replaced by another one,
// even through a link to its directory.
type watch struct {
	// known holds the accepted fingerprints by file name, seen the latest ones.
	known, seen map[string]fingerprint
}

// newWatch returns a watch that accepts the files' current content.
func newWatch(files []string) *watch {
	w := &watch{known: make(map[string]fingerprint, len(files))}
	w.follow(files)
	return w
}

// follow makes the watch observe the given files. It accepts the current content of files it did
// not observe before, so call it before reading them.
func (w *watch) follow(files []string) {
	known := make(map[string]fingerprint, len(files))
	for _, name := range files {
		before, old := w.known[name]
		if !old {
			before = look(name)
		}
		known[name] = before
	}
	w.known = known
	w.seen = maps.Clone(known)
}

// accept accepts the files' current content.
func (w *watch) accept() {
	for name := range w.known {
		w.known[name] = look(name)
	}
	w.seen = maps.Clone(w.known)
}

// changed checks the files and reports whether they have changed but not since the previous check:
// a file may be written in parts.
func (w *watch) changed() bool {
	before := w.seen
	w.seen = make(map[string]fingerprint, len(w.known))
	for name := range w.known {
		w.seen[name] = look(name)
	}
	if maps.Equal(w.seen, w.known) || !maps.Equal(w.seen, before) {
		return false
	}
	w.known = w.seen
	return true
}

// look hashes a file, or the names and contents of the configuration files in a directory. An
// unreadable file counts as empty.
func look(name string) fingerprint {
	all := sha256.New()
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		files, _ := config.Expand([]string{name}) // the next reload reports errors
		for _, file := range files {
			content := look(file)
			all.Write([]byte(file + "\x00"))
			all.Write(content[:])
		}
		return fingerprint(all.Sum(nil))
	}
	if f, err := os.Open(name); err == nil {
		_, _ = io.Copy(all, io.LimitReader(f, maxWatched)) // the next reload reports errors
		_ = f.Close()
	}
	return fingerprint(all.Sum(nil))
}
