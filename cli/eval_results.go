package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentruntime/agentruntime/app/evals"
)

// resultFile is the file of --results, one JSON object per line.
type resultFile struct {
	file *os.File
	name string
	err  error
}

// openResults opens the file of --results. With --resume it returns the file's existing results.
func (o *evalOptions) openResults() (*resultFile, []*evals.Result, error) {
	if o.results == "" {
		return &resultFile{}, nil, nil
	}
	var done []*evals.Result
	if o.resume {
		var err error
		if done, err = readResults(o.results); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
	}
	name := o.results
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	switch info, err := os.Stat(name); {
	case err == nil && !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("--results %s is not a regular file", o.results)
	case err == nil && info.Size() > 0 && !o.resume:
		return nil, nil, fmt.Errorf("--results %s: the file exists: continue from it with --resume, or write to another one", o.results)
	}
	// The existing results are kept until the new file has them.
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return nil, nil, err
	}
	sink := &resultFile{file: file, name: name}
	for _, r := range done {
		if r.Status == evals.Passed || r.Status == evals.Failed {
			sink.append(r)
		}
	}
	if sink.err == nil {
		sink.err = file.Sync()
	}
	if sink.err == nil {
		sink.err = os.Rename(file.Name(), name)
	}
	if sink.err != nil {
		_ = os.Remove(file.Name()) // the first error counts
	}
	return sink, done, sink.err
}

// write appends a result, on disk before the next run begins.
func (f *resultFile) write(r *evals.Result) {
	f.append(r)
	if f.file != nil && f.err == nil {
		f.err = f.file.Sync()
	}
}

// append appends a result.
func (f *resultFile) append(r *evals.Result) {
	if f.file == nil || f.err != nil {
		return
	}
	line, err := json.Marshal(r)
	if err == nil {
		_, err = f.file.Write(append(line, '\n'))
	}
	f.err = err
}

// check returns an error if the file lacks results.
func (f *resultFile) check() error {
	if f.file == nil || f.err != nil {
		return f.err
	}
	written, err := f.file.Stat()
	if err != nil {
		return err
	}
	if current, err := os.Stat(f.name); err != nil || !os.SameFile(written, current) {
		return fmt.Errorf("--results %s lacks the results of this run: another process has replaced the file", f.name)
	}
	return nil
}

func (f *resultFile) close() {
	if f.file != nil {
		_ = f.file.Close() // every line was synced
	}
}

// readResults reads results: JSON lines, or the report of --format json. It skips a truncated last
// line and outcomes from before a case changed.
func readResults(name string) ([]*evals.Result, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var report struct{ Results []*evals.Result }
	if json.Unmarshal(data, &report) == nil && report.Results != nil {
		for i, r := range report.Results {
			if err := checkResult(r); err != nil {
				return nil, fmt.Errorf("%s: results[%d] is not a result: %w", name, i, err)
			}
		}
		return newestOf(report.Results), nil
	}
	var list []*evals.Result
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		one := new(evals.Result)
		if err := json.Unmarshal(lines.Bytes(), one); err != nil {
			if !bytes.HasSuffix(data, []byte("\n")) && bytes.HasSuffix(data, lines.Bytes()) {
				break // the write of the last line was interrupted
			}
			return nil, fmt.Errorf("%s: line %d is not a result: %w", name, n, err)
		}
		if err := checkResult(one); err != nil {
			return nil, fmt.Errorf("%s: line %d is not a result: %w", name, n, err)
		}
		list = append(list, one)
	}
	return newestOf(list), lines.Err()
}

// newestOf drops the results of cases that have a later outcome with another digest.
func newestOf(results []*evals.Result) []*evals.Result {
	type row struct{ id, variant string }
	newest := make(map[row]string)
	for _, r := range results {
		if r.Status == evals.Passed || r.Status == evals.Failed {
			newest[row{r.Case, r.Variant}] = r.Digest
		}
	}
	return slices.DeleteFunc(results, func(r *evals.Result) bool {
		digest, known := newest[row{r.Case, r.Variant}]
		return known && r.Digest != digest
	})
}

// checkResult returns an error if a result cannot be compared and shown.
func checkResult(r *evals.Result) error {
	if r == nil || r.Case == "" || !slices.Contains([]evals.Status{evals.Passed, evals.Failed, evals.Errored, evals.Skipped}, r.Status) {
		return errors.New("it has no case, or an unknown status")
	}
	for i, turn := range r.Turns {
		if turn == nil || slices.Contains(turn.Calls, nil) {
			return fmt.Errorf("turns[%d], or one of its calls, is null", i)
		}
	}
	return nil
}
