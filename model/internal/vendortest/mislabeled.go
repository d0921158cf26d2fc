package vendortest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/model"
)

// testMislabeled sends headers that do not match the body: the answer is the same.
func (v *Vendor) testMislabeled(t *testing.T) {
	plain := v.Recorded(t, "text")
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(plain)
	_ = w.Close()
	want, _ := Ask(t, v.Replay(t, bytes.NewReader(plain)), v.helloRequest())
	for name, answer := range map[string]struct {
		media, encoding string
		body            []byte
	}{
		"a page":                       {"text/html; charset=utf-8", "", plain},
		"a page, compressed":           {"text/html", "gzip", packed.Bytes()},
		"plain text":                   {"text/plain", "", plain},
		"no type":                      {"", "", plain},
		"compressed without saying so": {"text/event-stream", "", packed.Bytes()},
		"not compressed":               {"text/event-stream", "gzip", plain},
	} {
		e := v.Offline(t, func(r *http.Request) (*http.Response, error) {
			res := StreamResponse(r, bytes.NewReader(answer.body))
			res.Header = http.Header{"Content-Type": {answer.media}, "Content-Encoding": {answer.encoding}}
			return res, nil
		})
		if got, failure := Ask(t, e, v.helloRequest()); failure != nil || !slices.EqualFunc(want, got, sameEvent) {
			t.Errorf("%s: %d events, want %d; %v", name, len(got), len(want), failure)
		}
	}
}

// testConflict returns 409, a temporary error.
func (v *Vendor) testConflict(t *testing.T) {
	v.CheckRefusal(t, http.StatusConflict, fmt.Sprintf(v.Refusal, "a lock timed out"), model.Provider, "a lock timed out")
}

// CheckThoughts checks the handling of reasoning in the text of answers. stream returns an answer
// whose text comes in pieces.
func (v *Vendor) CheckThoughts(t *testing.T, stream func(pieces ...string) string) {
	t.Helper()
	says := func(name, tag, thought string, pieces ...string) Recording {
		return Recording{Name: name, Stream: stream(pieces...), Reason: model.FinishStop, Parts: []model.Part{
			{Type: model.PartReasoning, Reasoning: &model.Reasoning{Text: thought, Field: tag}}, model.Text("hi"),
		}}
	}
	list := []Recording{
		says("a thought", "<think>", "Hm.", "<think>Hm.</think>hi"),
		says("a thought in lines", "<think>", "\nHm.\n", "\n<think>\nHm.\n</think>\n\nhi"),
		says("a thought in pieces", "<think>", "Hm < 3.", "\n", "<", "thi", "nk", ">", "Hm", " < 3.", "<", "/think", ">", "\n", "\n", "hi"),
		says("a thought in capitals", "<think>", "Hm.", "<THINK>Hm.</Think>hi"),
		says("a thought that quotes tags", "<think>", "<b></b> </thin>", "<think><b></b>", " </thin></think>hi"),
		says("two thoughts", "<think>", "Hm.Oh.", "<think>Hm.</think>\n<think>Oh.</think>", "hi"),
		{Name: "a thought alone", Stream: stream("<think>Hm.", "</think>\n"), Reason: model.FinishStop, Parts: []model.Part{
			{Type: model.PartReasoning, Reasoning: &model.Reasoning{Text: "Hm.", Field: "<think>"}},
		}},
		{Name: "a thought without an end", Stream: stream("<think>Hm.</thi"), Reason: model.FinishStop, Parts: []model.Part{
			{Type: model.PartReasoning, Reasoning: &model.Reasoning{Text: "Hm.</thi", Field: "<think>"}},
		}},
	}
	list = append(list,
		says("a thought without a beginning", "<think>", "Let me see.\n", "Let me", " see.", "\n", "</think>", "\n\n", "hi"),
		says("a thought without a beginning in one piece", "<think>", "Hm.\n", "Hm.\n</think>\n\nhi"),
		Recording{Name: "a thought without a beginning alone", Stream: stream("Hm.\n", "</think>"), Reason: model.FinishStop, Parts: []model.Part{
			{Type: model.PartReasoning, Reasoning: &model.Reasoning{Text: "Hm.\n", Field: "<think>"}},
		}},
	)
	for _, tag := range [][2]string{
		{"<thinking>", "</thinking>"},
		{"<thought>", "</thought>"},
		{"<reasoning>", "</reasoning>"},
		{"[THINK]", "[/THINK]"},
		{"<seed:think>", "</seed:think>"},
		{"<|START_THINKING|>", "<|END_THINKING|>"},
		{"<|begin_of_thought|>", "<|end_of_thought|>"},
		{"◁think▷", "◁/think▷"},
		{"<|channel>thought", "<channel|>"},
		{"<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"},
	} {
		list = append(list, says("a thought in "+tag[0], tag[0], "Hm.", tag[0]+"Hm."+tag[1]+"\nhi"))
	}
	keep := v.helloRequest()
	keep.KeepTags = true
	for _, text := range []string{"<think>Hm.</think>hi", "Hm.\n</think>\nhi"} {
		list = append(list, Recording{
			Name: "the kept text " + text, Request: func() *model.Request { return keep }, Stream: stream(text), Reason: model.FinishStop, Parts: []model.Part{model.Text(text)},
		})
	}
	for _, text := range []string{"<th", "<thin", "<thinker>", "<p>hi</p>", "[1] hi", "hi <think>Hm.</think>", "“hi”", "◁", "</think>", "`<think>`", "See </think>", "```\n</think>\n```", "Tags:\n<think>\n</think>"} {
		list = append(list, Recording{Name: "the text " + text, Stream: stream(text), Reason: model.FinishStop, Parts: []model.Part{model.Text(text)}})
	}
	v.CheckStreams(t, list)
}
