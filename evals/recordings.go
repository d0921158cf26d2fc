package evals

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/recorded"
)

// recordingsDir is the directory of recordings, beside the file of the cases.
const recordingsDir = "recordings"

// RecordingPath returns where the models' answers of a case are recorded.
func RecordingPath(dir, caseID string) string {
	return filepath.Join(dir, recordingsDir, caseID+".jsonl")
}

// ToolRepliesPath returns where the results of tools of a case are recorded.
func ToolRepliesPath(dir, caseID string) string {
	return filepath.Join(dir, recordingsDir, caseID+".tools.jsonl")
}

// judgesPath returns where the answers of judging models are recorded.
func judgesPath(dir, caseID string) string {
	return filepath.Join(dir, recordingsDir, caseID+".judges.jsonl")
}

// StaleError reports a request that the recording of a case does not have.
type StaleError struct {
	Path string
	Err  error
}

// Error names the recording and the flag that replaces it.
func (e *StaleError) Error() string {
	if errors.Is(e.Err, fs.ErrNotExist) {
		return fmt.Sprintf("there is no recording %s: record one with --record", e.Path)
	}
	return fmt.Sprintf("the recording %s does not have the request: record again with --record: %v", e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *StaleError) Unwrap() error { return e.Err }

// modelSource answers the requests to models in one run.
type modelSource struct {
	intercept model.Interceptor
	// close ends the run; it returns why the answers cannot be relied upon. It writes a
	// recording if keep is set.
	close func(keep bool) error
	// fixed is set if the answers are the same in every run.
	fixed bool
}

// liveModels asks the models.
func liveModels() modelSource {
	return modelSource{
		intercept: func(ctx context.Context, next model.Executor, req *model.Request) iter.Seq2[model.Event, error] {
			return next.Stream(ctx, req)
		},
		close: func(bool) error { return nil },
	}
}

// answerWith answers with an executor.
func answerWith(e model.Executor) modelSource {
	return modelSource{
		intercept: func(ctx context.Context, _ model.Executor, req *model.Request) iter.Seq2[model.Event, error] {
			return e.Stream(ctx, req)
		},
		close: func(bool) error { return nil },
		fixed: true,
	}
}

// replayModels answers from a file.
func replayModels(path string) modelSource {
	data, err := os.ReadFile(path)
	if err != nil {
		return failingModels(&StaleError{Path: path, Err: err})
	}
	player, err := recorded.NewPlayer(bytes.NewReader(data))
	if err != nil {
		return failingModels(fmt.Errorf("%s: %w", path, err))
	}
	s := answerWith(player)
	s.close = func(bool) error {
		if mismatches := player.Mismatches(); len(mismatches) > 0 {
			return &StaleError{Path: path, Err: mismatches[0]}
		}
		return nil
	}
	return s
}

// failingModels answers nothing; a run that asks a model is an error.
func failingModels(err error) modelSource {
	var asked sync.Once
	used := false
	return modelSource{
		intercept: func(context.Context, model.Executor, *model.Request) iter.Seq2[model.Event, error] {
			asked.Do(func() { used = true })
			return func(yield func(model.Event, error) bool) {
				yield(model.Event{}, &model.Error{Class: model.InvalidRequest, Message: err.Error(), Err: err})
			}
		},
		close: func(bool) error {
			asked.Do(func() {})
			if used {
				return err
			}
			return nil
		},
		fixed: true,
	}
}

// recordModels asks the models and writes a file, with secrets redacted.
func recordModels(path string, redact func(string) string) modelSource {
	var file bytes.Buffer
	recorder := recorded.NewRecorder(nextExecutor{}, &file)
	return modelSource{
		intercept: func(ctx context.Context, next model.Executor, req *model.Request) iter.Seq2[model.Event, error] {
			return recorder.Stream(context.WithValue(ctx, nextKey{}, next), req)
		},
		close: func(keep bool) error {
			err := recorder.Close()
			if err != nil || !keep || file.Len() == 0 {
				return err
			}
			return writeFile(path, []byte(redact(file.String())))
		},
	}
}

type nextKey struct{}

// nextExecutor asks the executor of the context.
type nextExecutor struct{}

// Stream asks it.
func (nextExecutor) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	next := ctx.Value(nextKey{}).(model.Executor) //nolint:forcetypeassert // recordModels sets it
	return next.Stream(ctx, req)
}

// writeFile replaces a file, and makes its directory.
func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// readToolReplies reads the recorded results of tools; none if there is no file.
func readToolReplies(path string) ([]ToolReply, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []ToolReply
	for n, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var one ToolReply
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, n+1, err)
		}
		list = append(list, one)
	}
	return list, nil
}
