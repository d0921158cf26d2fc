package evals

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentruntime/agentruntime/service/evalcase"
)

// WriteDraft adds a case to a file, creating it if necessary, and writes the tool results to a file
// beside it, with secrets removed by hide. It returns an *evalcase.Error for an invalid case, and
// ErrCaseExists if a file of the suite already has the ID; in both cases it writes nothing.
func WriteDraft(d *evalcase.Draft, file string, suite []string, hide func(string) string) error {
	d.Redact(hide)
	data, err := readFile(file, maxFileSize)
	if os.IsNotExist(err) {
		data, err = []byte(evalcase.Header), nil
	}
	if err != nil {
		return err
	}
	for _, other := range suite {
		if err := checkNewID(other, d.ID); err != nil {
			return err
		}
	}
	whole := strings.TrimRight(string(data), "\n") + "\n" + d.YAML()
	all, list := Parse(file, []byte(whole))
	if list.HasErrors() {
		return &evalcase.Error{Reason: fmt.Sprintf("%s would be invalid: %v", file, list.Err())}
	}
	if _, added := all.findID(d.ID); !added {
		return &evalcase.Error{Reason: fmt.Sprintf("cases must be the last field of %s", file)}
	}
	if len(d.Replies) > 0 {
		var lines bytes.Buffer
		for i := range d.Replies {
			line, err := json.Marshal(&d.Replies[i])
			if err != nil {
				return err
			}
			lines.Write(append(line, '\n'))
		}
		if err := writeFile(toolRepliesPath(filepath.Dir(file), d.ID), lines.Bytes()); err != nil {
			return err
		}
	}
	return writeFile(file, []byte(whole))
}

// ErrCaseExists is the cause of an error of WriteDraft for a case whose ID is taken.
var ErrCaseExists = errors.New("there is already a case with this ID")

// checkNewID returns an error if a file has a case with the ID.
func checkNewID(file, id string) error {
	data, err := readFile(file, maxFileSize)
	if err != nil {
		return nil //nolint:nilerr // no run can read it either
	}
	cases, _ := Parse(file, data)
	if known, taken := cases.findID(id); taken {
		return fmt.Errorf("%w: %s in %s", ErrCaseExists, known, file)
	}
	return nil
}
