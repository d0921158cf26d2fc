// Package recorded records a model's answers in a file and replays them in tests: fast, without a
// network or key.
//
// A Recorder wraps a vendor's executor and writes each request with its streamed answer. A Player
// answers from the file. It finds the answer by the content of the request, so that turns may run
// concurrently and in any order, and fails with a *MismatchError if the content differs from all
// recordings.
//
// The file has one JSON object per line, to be committed and reviewed with the test. It omits the
// ids that differ in each run, of the session, the turn and messages. It contains no credentials,
// which belong to the executor, and its URLs have no user information or query. Use Redact to
// remove other secrets, and Normalize to replace values that change, such as the date in a prompt.
package recorded

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
)

// Option is an option of recorders and players. Play a recording with the options used to record
// it.
type Option func(*options)

type options struct {
	normalize func(*model.Request)
	redact    func(string) string
}

// Normalize calls f with a copy of each request before the request is written or compared. The
// model receives the original.
func Normalize(f func(*model.Request)) Option { return func(o *options) { o.normalize = f } }

func newOptions(list []Option) *options {
	o := new(options)
	for _, option := range list {
		option(o)
	}
	return o
}

// recording is one line of a file: a request and its answer.
type recording struct {
	Request request  `json:"request"`
	Events  []event  `json:"events,omitempty"`
	Error   *failure `json:"error,omitempty"`
}

// newRequest returns the recorded form of a request.
func (o *options) newRequest(req *model.Request) (request, error) {
	if o.normalize != nil {
		own, err := cloneRequest(req)
		if err != nil {
			return request{}, err
		}
		o.normalize(own)
		req = own
	}
	r := model.NewRequestRecord(req, stripURL)
	for i := range r.Messages {
		r.Messages[i].ID = ""
	}
	o.redactRequest(&r)
	return r, nil
}

// FormatError reports a line of a file that is not a recording.
type FormatError struct {
	// Line counts from 1.
	Line int
	Err  error
}

// Error returns the line and the problem.
func (e *FormatError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }

// encodeRecording returns a line, with its newline.
func encodeRecording(r *recording) ([]byte, error) {
	line, err := rawjson.Marshal(r)
	return append(line, '\n'), err
}

// decodeRecordings reads a file. Empty lines are skipped.
func decodeRecordings(r io.Reader) ([]recording, error) {
	var all []recording
	lines := bufio.NewReader(r)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if line := bytes.TrimSpace(line); len(line) > 0 {
			one, err := decodeRecording(line)
			if err != nil {
				return nil, &FormatError{Line: number, Err: err}
			}
			all = append(all, one)
		}
		if err != nil {
			return all, nil
		}
	}
}

func decodeRecording(line []byte) (recording, error) {
	var r recording
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return recording{}, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return recording{}, errors.New("more than one JSON object")
	}
	return r, r.validate()
}

// validate checks that the events form one answer, which ended or failed.
func (r *recording) validate() error {
	var answer model.Answer
	for i := range r.Events {
		ev, err := r.Events[i].toModel()
		if err == nil {
			err = answer.Add(&ev)
		}
		if err != nil {
			return fmt.Errorf("events[%d]: %w", i, err)
		}
	}
	switch {
	case answer.Finished && r.Error != nil:
		return errors.New("the answer has both a finish and an error")
	case !answer.Finished && r.Error == nil:
		return errors.New("the answer has neither a finish nor an error")
	}
	return nil
}
