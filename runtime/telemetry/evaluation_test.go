package telemetry

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
)

func TestFeedbackIsExportedAsAnEvaluation(t *testing.T) {
	score := 0.25
	for name, capture := range map[string]bool{"with content": true, "without content": false} {
		t.Run(name, func(t *testing.T) {
			w := newWatch(t, Settings{CaptureContent: capture, Redact: func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }})
			w.RecordEvaluation(t.Context(), Evaluation{TurnID: "t", SessionID: "s", AgentID: "clerk", Name: "tone", Score: &score, Label: "rude", Explanation: "said hunter2"})
			span := w.span("evaluation tone")
			if len(span.Events) != 1 || span.Events[0].Name != "gen_ai.evaluation.result" {
				t.Fatalf("the events are %+v", span.Events)
			}
			got := attribute.NewSet(span.Events[0].Attributes...)
			if v, _ := got.Value("gen_ai.evaluation.score.value"); v.AsFloat64() != score {
				t.Errorf("the score is %v", v.AsFloat64())
			}
			want := ""
			if capture {
				want = "said ***"
			}
			if v, _ := got.Value("gen_ai.evaluation.explanation"); v.AsString() != want {
				t.Errorf("the explanation is %q, want %q", v.AsString(), want)
			}
		})
	}
	var none *Telemetry
	none.RecordEvaluation(t.Context(), Evaluation{Name: "tone"})
}
