package evals

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
)

// Suite is a set of cases from one or several files.
type Suite struct {
	// Cases are the cases in the order of their files and IDs.
	Cases []*Case
	// files holds the source file of each case, by ID.
	files map[string]*config.File
}

// maxFileSize limits a file of cases, and maxDataSize a recording or an attachment, in bytes.
const (
	maxFileSize = 8 << 20
	maxDataSize = 256 << 20
)

// Load reads files of cases. It reports mistakes in their content as diagnostics, and unreadable
// files as an error.
func Load(names []string) (*Suite, diag.List, error) {
	s := &Suite{files: make(map[string]*config.File)}
	var list diag.List
	for _, name := range names {
		data, err := readFile(name, maxFileSize)
		if err != nil {
			return nil, nil, fmt.Errorf("read cases: %w", err)
		}
		list = append(list, s.addFile(name, data)...)
	}
	return s, list, nil
}

// checkFile returns an error unless a file is regular and no larger than most bytes. Others may be
// endless.
func checkFile(name string, most int64) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", name)
	case info.Size() > most:
		return fmt.Errorf("%s has more than %d MiB", name, most>>20)
	}
	return nil
}

// readFile reads a file that checkFile accepts.
func readFile(name string, most int64) ([]byte, error) {
	if err := checkFile(name, most); err != nil {
		return nil, err
	}
	return os.ReadFile(name)
}

// addFile adds the cases of a file.
func (s *Suite) addFile(name string, data []byte) diag.List {
	record, f, found := config.ParseRecord[File](config.Source{Name: name, Data: data}, config.Options{})
	var more diag.List
	for _, id := range slices.Sorted(maps.Keys(record.Cases)) {
		c := record.Cases[id]
		if c == nil {
			more = append(more, diag.New(diag.InvalidValue, diag.Key("cases", id), "case %q has no fields", id))
			continue
		}
		if other, taken := s.findID(id); taken {
			more = append(more, diag.New(diag.DuplicateID, diag.Key("cases", id), "there is another case %q; case does not distinguish IDs, because files are named after them", other).AtKey())
			continue
		}
		s.files[id] = f
		s.Cases = append(s.Cases, c)
	}
	return f.Complete(found, more)
}

// findID returns an existing case ID that conflicts with a new one.
func (s *Suite) findID(id string) (string, bool) {
	for _, c := range s.Cases {
		if strings.EqualFold(c.ID, id) {
			return c.ID, true
		}
	}
	return "", false
}

// Dir returns the directory of a case's file, which also holds its recordings.
func (s *Suite) Dir(caseID string) string {
	if f := s.files[caseID]; f != nil {
		return filepath.Dir(f.Files()[0])
	}
	return "."
}

// Place returns where a case is defined, as file, line and column; the file is empty for a case
// built in Go.
func (s *Suite) Place(caseID string) (file string, line, column int) {
	f := s.files[caseID]
	if f == nil {
		return "", 0, 0
	}
	placed := f.Complete(nil, diag.List{diag.New(diag.InvalidValue, diag.Key("cases", caseID), "place").AtKey()})
	if len(placed) == 0 {
		return "", 0, 0
	}
	return placed[0].File, placed[0].Line, placed[0].Column
}

// Source returns the text of a file of cases, for reports; nil for other files.
func (s *Suite) Source(name string) []byte {
	for _, f := range s.files {
		if slices.Contains(f.Files(), name) {
			return f.Source(name)
		}
	}
	return nil
}

// StubsAll reports whether every case stubs all tools with an ID prefix, so that their server is
// never called.
func (s *Suite) StubsAll(prefix string) bool {
	return prefix != "" && !slices.ContainsFunc(s.Cases, func(c *Case) bool { return !c.stubsAll(prefix) })
}

func (c *Case) stubsAll(prefix string) bool {
	all := false
	for name, use := range c.Tools {
		fixed := name
		if at := strings.IndexAny(name, "*?[{\\"); at >= 0 {
			fixed = name[:at]
		}
		if use == nil || use.Real && (strings.HasPrefix(fixed, prefix) || strings.HasPrefix(prefix, fixed)) {
			return false
		}
		all = all || name == fixed+"*" && strings.HasPrefix(prefix, fixed)
	}
	return all
}

// Select keeps the cases that a function accepts.
func (s *Suite) Select(keep func(*Case) bool) {
	s.Cases = slices.DeleteFunc(s.Cases, func(c *Case) bool { return !keep(c) })
}

// Removed returns the cases of a baseline that are missing from the suite. Cases that Select left
// out are not missing.
func (s *Suite) Removed(baseline []*Result) []string {
	var gone []string
	for _, r := range baseline {
		_, known := s.files[r.Case]
		if !known && !slices.ContainsFunc(s.Cases, func(c *Case) bool { return c.ID == r.Case }) && !slices.Contains(gone, r.Case) {
			gone = append(gone, r.Case)
		}
	}
	return gone
}

// NewSuite returns a suite of cases built in Go. Their recordings belong to the current directory.
func NewSuite(cases ...*Case) *Suite { return &Suite{Cases: cases} }

// Parse reads cases from the text of a file; name is its name in diagnostics.
func Parse(name string, data []byte) (*Suite, diag.List) {
	s := &Suite{files: make(map[string]*config.File)}
	return s, s.addFile(name, data)
}
