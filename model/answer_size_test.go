package model_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
)

func TestAnAnswerIsOnlySoLarge(t *testing.T) {
	const part = 1 << 10
	text := func(n int) model.Event { return model.Event{Type: model.EventText, Delta: strings.Repeat("x", n)} }
	most := model.MaxAnswer - part
	for _, tt := range []struct {
		name   string
		events []model.Event
		fits   bool
	}{
		{"just enough", []model.Event{text(most - 1), finish}, true},
		{"one too many", []model.Event{text(most - 1), text(2)}, false},
		{"in one piece", []model.Event{text(model.MaxAnswer + 1)}, false},
		{"taken back", []model.Event{text(most - 1), {Type: model.EventReset}, text(most - 1), finish}, true},
		{"the second part", []model.Event{text(most - part), begin, piece}, false},
		{"a name", []model.Event{{Type: model.EventToolCallStart, Name: strings.Repeat("x", model.MaxAnswer+1)}}, false},
	} {
		var a model.Answer
		var err error
		for i := range tt.events {
			if err = a.Add(&tt.events[i]); err != nil {
				break
			}
		}
		failure, _ := errors.AsType[*model.Error](err)
		if tt.fits != (err == nil) || !tt.fits && (failure.Class != model.Truncated || failure.Class.Retryable()) {
			t.Errorf("%s: %v", tt.name, err)
		}
		a.Reset(2)
		if err := a.Add(&finish); err != nil {
			t.Errorf("%s: the answer after it: %v", tt.name, err)
		}
	}
}

func TestAStreamOfNothingEnds(t *testing.T) {
	var a model.Answer
	nothing := model.Event{Type: model.EventText}
	for range model.MaxAnswer {
		if a.Add(&nothing) != nil {
			return
		}
	}
	t.Error("it goes on for ever")
}

func TestAnIDThatIsTooLongIsReplaced(t *testing.T) {
	a := add(t, model.Event{Type: model.EventToolCallStart, ID: strings.Repeat("x", 257), Name: "x"},
		model.Event{Type: model.EventToolCallStart, Index: 1, ID: strings.Repeat("x", 256), Name: "x"})
	if id, _ := a.Call(0); id != "call_0_0" {
		t.Errorf("the first call has the id %.20q", id)
	}
	if id, _ := a.Call(1); len(id) != 256 {
		t.Errorf("the second call has the id %.20q", id)
	}
}
