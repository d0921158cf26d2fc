package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
)

func TestAnAnswerHasTheIDOfItsRequest(t *testing.T) {
	t.Parallel()
	for name, tt := range peertest.AnswersOf {
		h := peertest.NewHost(t)
		h.Answer(nil, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", TypeJSON)
			_, _ = io.WriteString(w, strings.ReplaceAll(tt.Answer, "RESULT", `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}`))
		})
		p := reach(t, h.Endpoint(""))
		err := getTask(t, p)
		if tt.Wrong != (err != nil) || tt.Foreign != errors.Is(err, ErrForeignAnswer) {
			t.Errorf("%s: error is %v", name, err)
		}
		if tt.Foreign && Judge(err) != (Judgement{Passing, CodeProtocol}) {
			t.Errorf("%s: it is judged %+v", name, Judge(err))
		}
	}
}

func TestEveryEventHasTheIDOfItsRequest(t *testing.T) {
	t.Parallel()
	const result = `{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}`
	for name, tt := range peertest.AnswersOf {
		for _, kind := range []string{TypeEvents, TypeJSON} {
			good := strings.ReplaceAll(peertest.AnswersOf["the id"].Answer, "RESULT", result)
			answer := strings.ReplaceAll(tt.Answer, "RESULT", result)
			h := peertest.NewHost(t)
			h.Answer(nil, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", kind)
				if kind == TypeJSON { // instead of a stream
					_, _ = io.WriteString(w, answer)
					return
				}
				_, _ = fmt.Fprintf(w, "data: %s\n\n: ping\n\ndata: %s\n\ndata: %s\n\n", good, answer, good)
			})
			got, err := stream(t, reach(t, h.Endpoint("")))
			want := map[string]int{TypeEvents: 3, TypeJSON: 1}[kind]
			if tt.Wrong {
				want = map[string]int{TypeEvents: 1, TypeJSON: 0}[kind]
			}
			if strings.Contains(name, "then more") && kind == TypeJSON {
				if err == nil || len(got) != 0 { // no JSON
					t.Errorf("%s in place of a stream: %d events, %v", name, len(got), err)
				}
				continue
			}
			if len(got) != want || tt.Wrong != (err != nil) || tt.Foreign != errors.Is(err, ErrForeignAnswer) {
				t.Errorf("%s as %s: %d events, %v", name, kind, len(got), err)
			}
		}
	}
}

// A stream's content is passed on unchanged, however it is split, except for comments within events.
func TestAStreamOfAnswersIsPassedOnAsItIs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", ": ping\n\n", "data: {\"id\":\"1\"}\n\n", "data: {\"id\":\r\ndata:\"1\"}\r\n\r\nid: 7\n\n", "data: {\"id\":\"1\"}", "event: x\ndata: no JSON\n\n: a\n",
	} {
		for _, body := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text))} {
			got, err := io.ReadAll(newAnswerStream(io.NopCloser(body), "1"))
			if err != nil || string(got) != text {
				t.Errorf("%q: %q, %v", text, got, err)
			}
		}
	}
	within, err := io.ReadAll(newAnswerStream(io.NopCloser(strings.NewReader("data: {\"id\":\n: ping\n: ping\ndata: \"1\"}\n\n")), "1"))
	if err != nil || string(within) != "data: {\"id\":\ndata: \"1\"}\n\n" {
		t.Errorf("comments within an event: %q, %v", within, err)
	}
	piece := make([]byte, 100)
	n, err := newAnswerStream(io.NopCloser(strings.NewReader(strings.Repeat(": ping\n", 100))), "1").Read(piece)
	if err != nil || string(piece[:n]) != ": ping\n" {
		t.Errorf("comments without an event: %q, %v", piece[:n], err)
	}
	broken := io.MultiReader(strings.NewReader("data: {\"id\":\"1\"}\n\ndata: {"), iotest.ErrReader(io.ErrUnexpectedEOF))
	got, err := io.ReadAll(newAnswerStream(io.NopCloser(broken), "1"))
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasPrefix(string(got), "data: {\"id\":\"1\"}\n\n") {
		t.Errorf("a stream that breaks: %q, %v", got, err)
	}
}
