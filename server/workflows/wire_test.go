package workflows

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/service/workflow"
	"github.com/agentruntime/agentruntime/spec"
	flow "github.com/agentruntime/agentruntime/spec/workflow"
)

// fill sets all fields below a value.
func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case json.RawMessage:
		v.SetBytes([]byte(`"text"`))
		return
	case spec.Duration:
		v.SetInt(int64(1500 * time.Millisecond))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		one := reflect.New(v.Type().Elem()).Elem()
		fill(one)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("name"), one)
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Int:
		v.SetInt(3)
	default:
		panic("a field of the kind " + v.Kind().String())
	}
}

// elsewhere are the fields of a workflow that a request has in another place: ids are that
// of the schedule or trigger, owners come from the caller, and Paused stands beside them.
// Webhooks have secrets, and are declared alone.
var elsewhere = []string{"ID", "Tenant", "Subject", "Webhooks", "Schedules.ID", "Schedules.Paused", "Events.ID", "Events.Paused"}

// clearElsewhere unsets these fields.
func clearElsewhere(w *flow.Workflow) {
	for _, path := range elsewhere {
		v := reflect.ValueOf(w).Elem()
		for name := range strings.SplitSeq(path, ".") {
			if v.Kind() == reflect.Slice {
				if v.Len() == 0 {
					v = reflect.Value{}
					break
				}
				v = v.Index(0)
			}
			v = v.FieldByName(name)
		}
		if v.IsValid() {
			v.SetZero()
		}
	}
}

// TestEveryFieldOfAWorkflowIsInItsViewAndInARequest reads a schedule, and a trigger, of a
// workflow with all fields, and makes one like it of what it has read.
func TestEveryFieldOfAWorkflowIsInItsViewAndInARequest(t *testing.T) {
	for _, schedule := range []bool{true, false} {
		want := new(flow.Workflow)
		fill(reflect.ValueOf(want).Elem())
		want.Target = nil // what it stands for are steps
		s := &workflow.Start{ID: "s", Workflow: want}
		if schedule {
			want.Events, s.Schedule = nil, &want.Schedules[0]
		} else {
			want.Schedules, s.Event = nil, &want.Events[0]
		}
		data, err := json.Marshal(viewStart(s))
		if err != nil {
			t.Fatal(err)
		}
		view := new(Start)
		if err := json.Unmarshal(data, view); err != nil {
			t.Fatal(err)
		}
		got := toWorkflowOf(t, view.ToRequest())
		clearElsewhere(want)
		wantSame(t, got, want)
	}
}

// TestEveryFieldOfTheOlderFormIsInARequest makes a target of the older form with all
// fields.
func TestEveryFieldOfTheOlderFormIsInARequest(t *testing.T) {
	req := new(StartRequest)
	fill(reflect.ValueOf(req).Elem())
	req.Target.Steps, req.Match = nil, nil
	want := new(flow.Target)
	fill(reflect.ValueOf(want).Elem())
	wantSame(t, toWorkflowOf(t, *req).Target, want)
}

// toWorkflowOf sends a request and returns what the server makes of it.
func toWorkflowOf(t *testing.T, req StartRequest) *flow.Workflow {
	t.Helper()
	data, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	sent := new(StartRequest)
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(sent); err != nil {
		t.Fatal(err)
	}
	return sent.toWorkflow()
}

func wantSame(t *testing.T, got, want any) {
	t.Helper()
	a, err := json.MarshalIndent(got, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.MarshalIndent(want, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Errorf("the server has\n%s\nwant\n%s", a, b)
	}
}
