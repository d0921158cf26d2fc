package evals

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/recorded"
	"github.com/agentruntime/agentruntime/service/evalcase"
)

// recordingsDir is the directory of recordings, beside the file of the cases.
const recordingsDir = "recordings"

// recordingPath returns the path of a case's recorded model answers.
func recordingPath(dir, caseID string) string {
	return filepath.Join(dir, recordingsDir, caseID+".jsonl")
}

// toolRepliesPath returns the path of a case's recorded tool results.
func toolRepliesPath(dir, caseID string) string {
	return filepath.Join(dir, recordingsDir, caseID+".tools.jsonl")
}

// judgesPath returns the path of the recorded answers of judging models.
func judgesPath(dir, caseID string) string {
	return filepath.Join(dir, recordingsDir, caseID+".judges.jsonl")
}

// staleError reports a request that is missing from the recording of a case.
type staleError struct {
	Path string
	// Variant names the values of a matrix, or the baseline, used by the run. Only runs without a
	// variant are recorded.
	Variant string
	Err     error
}

// Error names the recording and the flag that updates it.
func (e *staleError) Error() string {
	missing := errors.Is(e.Err, fs.ErrNotExist)
	switch {
	case missing && e.Variant != "":
		return fmt.Sprintf("there is no recording %s: ask the models with --live", e.Path)
	case missing:
		return fmt.Sprintf("there is no recording %s: record one with --record", e.Path)
	case e.Variant != "":
		return fmt.Sprintf("the recording %s does not have the request (%s): ask the models with --live: %v", e.Path, e.Variant, e.Err)
	default:
		return fmt.Sprintf("the recording %s does not have the request: record again with --record: %v", e.Path, e.Err)
	}
}

// Unwrap returns the cause.
func (e *staleError) Unwrap() error { return e.Err }

// outageError reports that a provider failed while a case was recorded. The earlier
// recording is kept.
type outageError struct {
	Path string
	Err  error
}

// Error names the recording.
func (e *outageError) Error() string {
	return fmt.Sprintf("the provider failed, so %s was not written: %v", e.Path, e.Err)
}

// Unwrap returns the error of the provider.
func (e *outageError) Unwrap() error { return e.Err }

// modelSource answers the model requests of one run.
type modelSource struct {
	intercept model.Interceptor
	// close ends the run and returns why its answers are unreliable; it may be nil.
	close func() error
	// save writes the recording; it may be nil.
	save func() error
	// fixed is set if the answers are the same in every run.
	fixed bool
}

// closeSources ends a run with an error or nil. If the run succeeded, it writes the recordings.
func closeSources(err error, sources ...modelSource) error {
	for _, s := range sources {
		if s.close != nil {
			err = errors.Join(err, s.close())
		}
	}
	for _, s := range sources {
		if err == nil && s.save != nil {
			err = s.save()
		}
	}
	return err
}

// liveModels asks the models.
func liveModels() modelSource {
	return modelSource{
		intercept: func(ctx context.Context, next model.Executor, req *model.Request) iter.Seq2[model.Event, error] {
			return next.Stream(ctx, req)
		},
	}
}

// answerWith answers with an executor.
func answerWith(e model.Executor) modelSource {
	return modelSource{
		intercept: func(ctx context.Context, _ model.Executor, req *model.Request) iter.Seq2[model.Event, error] {
			return e.Stream(ctx, req)
		},
		fixed: true,
	}
}

// scriptedModels answers from the scripts of a case; turn is the index of the turn.
func scriptedModels(k *compiled, turn *atomic.Int64) modelSource {
	return modelSource{
		intercept: func(ctx context.Context, _ model.Executor, req *model.Request) iter.Seq2[model.Event, error] {
			script := k.scripts[diag.Join(diag.Index("turns", int(turn.Load())), "script")]
			return cmp.Or(script, k.scripts["script"]).Stream(ctx, req)
		},
		fixed: true,
	}
}

// replayModels answers from a file.
func replayModels(path, variant string, redact recorded.Option) modelSource {
	data, err := readFile(path, maxDataSize)
	if err != nil {
		return failingModels(&staleError{Path: path, Variant: variant, Err: err})
	}
	player, err := recorded.NewPlayer(bytes.NewReader(data), redact)
	if err != nil {
		return failingModels(fmt.Errorf("%s: %w", path, err))
	}
	s := answerWith(player)
	s.close = func() error {
		if mismatches := player.Mismatches(); len(mismatches) > 0 {
			return &staleError{Path: path, Variant: variant, Err: mismatches[0]}
		}
		return nil
	}
	return s
}

// failingModels answers nothing; a model request is an error.
func failingModels(err error) modelSource {
	var used atomic.Bool
	return modelSource{
		intercept: func(context.Context, model.Executor, *model.Request) iter.Seq2[model.Event, error] {
			used.Store(true)
			return func(yield func(model.Event, error) bool) {
				yield(model.Event{}, &model.Error{Class: model.InvalidRequest, Message: err.Error(), Err: err})
			}
		},
		close: func() error {
			if used.Load() {
				return err
			}
			return nil
		},
		fixed: true,
	}
}

// recordModels calls the models and writes a recording without secrets.
func recordModels(path string, redact recorded.Option) modelSource {
	var file bytes.Buffer
	next := &nextExecutor{failed: make(map[string]error)}
	recorder := recorded.NewRecorder(next, &file, redact)
	return modelSource{
		intercept: func(ctx context.Context, asked model.Executor, req *model.Request) iter.Seq2[model.Event, error] {
			return recorder.Stream(context.WithValue(ctx, nextKey{}, asked), req)
		},
		close: func() error {
			if err := next.findOutage(); err != nil {
				return &outageError{Path: path, Err: err}
			}
			return recorder.Close()
		},
		save: func() error {
			if file.Len() == 0 {
				return nil
			}
			return writeFile(path, file.Bytes())
		},
	}
}

type nextKey struct{}

// nextExecutor calls the executor of the context.
type nextExecutor struct {
	mu sync.Mutex
	// failed holds the errors that ended the last requests of turns, by turn.
	failed map[string]error
}

// Stream calls the executor and records how the answer ends.
func (n *nextExecutor) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	next := ctx.Value(nextKey{}).(model.Executor) //nolint:forcetypeassert // recordModels sets it
	return func(yield func(model.Event, error) bool) {
		for ev, err := range next.Stream(ctx, req) {
			if ended := err != nil && ctx.Err() == nil; ended || ev.Type == model.EventFinish {
				n.mu.Lock()
				n.failed[req.TurnID] = err
				n.mu.Unlock()
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// findOutage returns a provider error after which its turn got no answer; nil if there was none.
func (n *nextExecutor) findOutage() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, turn := range slices.Sorted(maps.Keys(n.failed)) {
		if err := n.failed[turn]; err != nil {
			return err
		}
	}
	return nil
}

// writeFile replaces a file atomically, creating its directory if necessary.
func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if err := checkFile(path, math.MaxInt64); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	if info, statErr := os.Stat(path); statErr == nil {
		err = file.Chmod(info.Mode().Perm())
	}
	if err == nil {
		_, err = file.Write(data)
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // the first error counts
	}
	return err
}

// readToolReplies reads recorded tool results. It returns none if the file does not exist.
func readToolReplies(path string) ([]evalcase.ToolReply, error) {
	data, err := readFile(path, maxDataSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []evalcase.ToolReply
	for n, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var one evalcase.ToolReply
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, n+1, err)
		}
		list = append(list, one)
	}
	return list, nil
}
