package agentstest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/agents/wire"
)

// stepTime bounds a step.
const stepTime = 20 * time.Second

// Run runs all cases, each in a separate world, except those in skip, which maps names to
// reasons.
func Run(t *testing.T, open func(t *testing.T) (*World, Driver), skip map[string]string) {
	t.Helper()
	unknown := make(map[string]bool)
	for name := range skip {
		unknown[name] = true
	}
	for _, c := range Cases(t) {
		delete(unknown, c.Name)
		t.Run(strings.ReplaceAll(c.Name, " ", "_"), func(t *testing.T) {
			if why := skip[c.Name]; why != "" {
				t.Skip(why)
			}
			w, driver := open(t)
			r := &run{world: w, driver: driver, agent: c.Agent, captured: make(map[string]json.RawMessage)}
			for i := range c.Steps {
				if err := r.step(t.Context(), &c.Steps[i]); err != nil {
					t.Fatalf("step %d, %s: %v", i+1, c.Steps[i].Type, err)
				}
			}
		})
	}
	for name := range unknown {
		t.Errorf("there is no case %q to leave out", name)
	}
}

// run is one running case.
type run struct {
	world    *World
	driver   Driver
	agent    string
	captured map[string]json.RawMessage
}

// step runs one step.
func (r *run) step(ctx context.Context, s *Step) error {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	switch s.Type {
	case "send":
		return r.send(ctx, s)
	case "getSnapshotData":
		return r.checkSnapshot(ctx, s, r.driver.GetSnapshot)
	case "waitUntilCompleted":
		return r.checkSnapshot(ctx, s, r.driver.WaitForSnapshot)
	case "abort":
		return r.abort(ctx, s)
	default:
		return fmt.Errorf("unknown type %q", s.Type)
	}
}

// fill replaces {{name}} by captured values.
func (r *run) fill(raw json.RawMessage) json.RawMessage {
	for name, value := range r.captured {
		raw = bytes.ReplaceAll(raw, []byte(`"{{`+name+`}}"`), value)
	}
	return raw
}

func (r *run) fillText(text string) string {
	quoted, _ := json.Marshal(text) // a text
	_ = json.Unmarshal(r.fill(quoted), &text)
	return text
}

// send runs the turns of a step.
func (r *run) send(ctx context.Context, s *Step) error {
	r.world.Model.Program(s.ModelResponses, s.StreamChunks)
	init, err := wire.DecodeInit(r.fill(s.Init))
	if err != nil {
		return err
	}
	var inputs []*wire.Input
	for _, raw := range s.Inputs {
		input, err := wire.DecodeInput(r.fill(raw))
		if err != nil {
			return err
		}
		inputs = append(inputs, input)
	}
	chunks, output, err := r.driver.Send(ctx, r.agent, init, inputs)
	if want := s.ExpectError; want != nil {
		_, byCode := r.driver.(overHTTP)
		return checkError(err, want, byCode)
	}
	if err != nil {
		return err
	}
	if s.ExpectChunks != nil {
		if err := r.checkChunks(s, chunks); err != nil {
			return err
		}
	}
	if s.ExpectOutput != nil {
		if err := r.checkOutput(output, s.ExpectOutput); err != nil {
			return fmt.Errorf("%w\nin %s", err, encode(output))
		}
	}
	r.capture(s.CaptureSnapshotID, output.SnapshotID)
	r.capture(s.CaptureSessionID, output.SessionID)
	r.capture(s.CaptureState, output.State)
	return nil
}

func (r *run) capture(name string, value any) {
	if name != "" {
		r.captured[name] = encode(value)
	}
}

// checkSnapshot reads a snapshot and compares it.
func (r *run) checkSnapshot(ctx context.Context, s *Step, read func(context.Context, string, *wire.GetSnapshotRequest) (*wire.Snapshot, error)) error {
	kept, err := read(ctx, r.agent, &wire.GetSnapshotRequest{SnapshotID: r.fillText(s.SnapshotID), SessionID: r.fillText(s.SessionID)})
	if err != nil {
		return err
	}
	if err := r.checkState(kept, s.ExpectSnapshot); err != nil {
		return fmt.Errorf("%w\nin %s", err, encode(kept))
	}
	return nil
}

// abort reads the status of a snapshot and then aborts it.
func (r *run) abort(ctx context.Context, s *Step) error {
	id := r.fillText(s.SnapshotID)
	var previous *wire.SnapshotStatus
	kept, err := r.driver.GetSnapshot(ctx, r.agent, &wire.GetSnapshotRequest{SnapshotID: id})
	if err == nil {
		previous = &kept.Status
	} else if !isNotFound(err) {
		return err
	}
	if got, want := encode(previous), r.fill(s.ExpectPreviousStatus); string(want) != "" && !contains(got, want) {
		return fmt.Errorf("the status before was %s, want %s", got, want)
	}
	response, err := r.driver.Abort(ctx, r.agent, &wire.AbortRequest{SnapshotID: id})
	if previous == nil {
		if !isNotFound(err) {
			return fmt.Errorf("abort of nothing: %w", err)
		}
		return nil
	}
	if err == nil && response.SnapshotID != id {
		err = fmt.Errorf("the response names snapshot %q", response.SnapshotID)
	}
	return err
}

func isNotFound(err error) bool {
	e, ok := errors.AsType[*wire.Error](err)
	return ok && e.Status == wire.StatusNotFound
}
