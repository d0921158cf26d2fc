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
	// watchInterval is how often files are looked at.
	watchInterval = time.Second
	// maxWatched limits how much of a file is read, in bytes.
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

// newWatch returns a watch that knows the files as they are.
func newWatch(files []string) *watch {
	w := &watch{known: make(map[string]fingerprint, len(files))}
	w.follow(files)
	return w
}

// follow makes the watch look at these files from now on. It knows those that it
// has not looked at before as they are, so it is called before they are read.
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

// accept takes the files as they are now for those that count.
func (w *watch) accept() {
	for name := range w.known {
		w.known[name] = look(name)
	}
	w.seen = maps.Clone(w.known)
}

// changed looks at the files, and reports whether they have changed and are left
// alone since the look before: a file may be written in parts.
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
