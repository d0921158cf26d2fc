package runtime_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/anthropic"
	"github.com/agentruntime/agentruntime/model/openai"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
)

// vendor is a provider that can be asked on loopback.
type vendor struct {
	new func(t *testing.T, url string) model.Executor
	// whole is a stream that is an answer; piece is an event of one that continues
	// after begin, with a place for a text.
	whole, begin, piece string
	// refusal is the body of a refused request.
	refusal string
}

func vendors(t *testing.T) map[string]vendor {
	t.Helper()
	read := func(path string) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	claude := read("../model/anthropic/testdata/text.sse")
	begin, _, _ := strings.Cut(claude, "event: content_block_delta")
	return map[string]vendor{
		"openai": {
			new: func(t *testing.T, url string) model.Executor {
				e, err := openai.New(model.Settings{ID: "p"}, &openai.Config{APIKey: "sk-secret", BaseURL: url, API: openai.ChatCompletions})
				if err != nil {
					t.Fatal(err)
				}
				return e
			},
			whole:   read("../model/openai/testdata/chat/text.sse"),
			piece:   `data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}` + "\n\n",
			refusal: `{"error":{"message":"no, sk-secret","type":"x","code":null}}`,
		},
		"anthropic": {
			new: func(t *testing.T, url string) model.Executor {
				e, err := anthropic.New(model.Settings{ID: "p"}, &anthropic.Config{APIKey: "sk-secret", BaseURL: url})
				if err != nil {
					t.Fatal(err)
				}
				return e
			},
			whole: claude, begin: begin,
			piece:   `event: content_block_delta` + "\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}` + "\n\n",
			refusal: `{"type":"error","error":{"type":"x","message":"no, sk-secret"}}`,
		},
	}
}

// asked is what came of a turn whose vendor answers the n-th request, from 0,
// with serve.
func (v *vendor) asked(t *testing.T, retry bool, serve func(w http.ResponseWriter, n int32)) (*runtime.Result, *turntest.Events, int32) {
	t.Helper()
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		serve(w, requests.Add(1)-1)
	}))
	defer server.Close()
	agent := spec.Agent{ID: "clerk"}
	if retry {
		agent.Sections = spec.Sections{"retry": []byte(`{"backoff_base_ms":0,"overloaded_backoff_base_ms":0}`)}
	}
	rt := turntest.Build(t, turntest.WithAgents(v.new(t, server.URL), agent))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var log turntest.Events
	got, err := rt.Run(ctx, runtime.Prompt("clerk", "go"), event.SinkFunc(func(ev event.Event) {
		log.Emit(ev)
		if r, ok := ev.Data.(*event.ModelRetry); ok && r.WaitMS >= 1000 {
			cancel() // it would wait as long as the vendor says
		}
	}))
	if (err != nil) != (got.Status != event.StatusSucceeded) {
		t.Errorf("it ended by %+v, %v", got.Termination, err)
	}
	if strings.Contains(fmt.Sprint(err, got.Termination), "secret") {
		t.Errorf("the error tells the key: %v", err)
	}
	turntest.CheckLog(t, log.List)
	turntest.CheckMessages(t, got.Messages)
	return got, &log, requests.Load()
}

func TestWhatAVendorRefusesIsAskedAgainIfThatHelps(t *testing.T) {
	for name, v := range vendors(t) {
		for _, tt := range []struct {
			status int
			code   string
			again  bool
		}{
			{http.StatusUnauthorized, "unauthorized", false},
			{http.StatusForbidden, "unauthorized", false},
			{http.StatusNotFound, "invalid_request", false}, // the path may be wrong as well as the model
			{http.StatusTooManyRequests, "rate_limited", true},
			{http.StatusInternalServerError, "provider", true},
			{http.StatusBadGateway, "provider", true},
			{529, "overloaded", true},
		} {
			for _, retry := range []bool{false, true} {
				for _, after := range []string{"", "0", "3", "soon", "-1"} {
					t.Run(fmt.Sprintf("%s/%d/retry %v/after %q", name, tt.status, retry, after), func(t *testing.T) {
						refuse := func(w http.ResponseWriter) {
							if after != "" {
								w.Header().Set("Retry-After", after)
							}
							w.Header().Set("Content-Type", "application/json")
							w.WriteHeader(tt.status)
							_, _ = io.WriteString(w, v.refusal)
						}
						waits := tt.again && retry && after == "3"
						got, log, requests := v.asked(t, retry, func(w http.ResponseWriter, _ int32) { refuse(w) })
						want := int32(1)
						if tt.again && retry && !waits {
							want = 3
						}
						if requests != want {
							t.Errorf("%d requests, want %d", requests, want)
						}
						if waits {
							if got.Termination.Type != event.Canceled || waited(log) != 3000 {
								t.Errorf("it waits %d ms and ended by %+v", waited(log), got.Termination)
							}
							return
						}
						if got.Termination.Type != event.Failed || got.Termination.Code != tt.code {
							t.Errorf("it ended by %+v, want %s", got.Termination, tt.code)
						}
						if !tt.again || !retry {
							return
						}
						got, _, requests = v.asked(t, retry, func(w http.ResponseWriter, n int32) {
							if n < 2 {
								refuse(w)
								return
							}
							_ = v.stream(w, v.whole)
						})
						if got.Status != event.StatusSucceeded || got.Response == "" || requests != 3 {
							t.Errorf("after %d requests it ended by %+v with %q", requests, got.Termination, got.Response)
						}
					})
				}
			}
		}
	}
}

// waited returns how long the first repetition was put off, in milliseconds.
func waited(log *turntest.Events) int64 {
	for i := range log.List {
		if r, ok := log.List[i].Data.(*event.ModelRetry); ok {
			return r.WaitMS
		}
	}
	return 0
}

// stream answers with a part of a stream.
func (v *vendor) stream(w http.ResponseWriter, text string) error {
	w.Header().Set("Content-Type", "text/event-stream")
	_, err := io.WriteString(w, text)
	w.(http.Flusher).Flush()
	return err
}

func TestAVendorThatBreaksOffInTheMiddleOfAnEvent(t *testing.T) {
	for name, v := range vendors(t) {
		half := v.begin + fmt.Sprintf(v.piece, "Hello") + v.piece[:len(v.piece)/2]
		for how, breakOff := range map[string]func(w http.ResponseWriter){
			"at once":       func(http.ResponseWriter) {},
			"in an event":   func(w http.ResponseWriter) { _ = v.stream(w, half) },
			"by an abort":   func(w http.ResponseWriter) { _ = v.stream(w, half); panic(http.ErrAbortHandler) },
			"with no event": func(w http.ResponseWriter) { _ = v.stream(w, "<html>sorry</html>"); panic(http.ErrAbortHandler) },
		} {
			for _, retry := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/retry %v", name, how, retry), func(t *testing.T) {
					got, _, requests := v.asked(t, retry, func(w http.ResponseWriter, _ int32) { breakOff(w) })
					want := int32(1)
					if retry {
						want = 3
					}
					if got.Status != event.StatusFailed || requests != want {
						t.Errorf("after %d requests it ended by %+v", requests, got.Termination)
					}
					if strings.Contains(how, "in an") && !strings.HasPrefix(got.Response, "Hello") {
						t.Errorf("what was shown is lost: %q", got.Response)
					}
					if !retry {
						return
					}
					got, _, _ = v.asked(t, retry, func(w http.ResponseWriter, n int32) {
						if n == 0 {
							breakOff(w)
							return
						}
						_ = v.stream(w, v.whole)
					})
					if got.Status != event.StatusSucceeded || !strings.Contains(got.Response, "Gott") {
						t.Errorf("it ended by %+v with %q", got.Termination, got.Response)
					}
				})
			}
		}
	}
}

func TestAVendorThatNeverStopsIsNotAskedAgain(t *testing.T) {
	for name, v := range vendors(t) {
		t.Run(name, func(t *testing.T) {
			piece := fmt.Sprintf(v.piece, strings.Repeat("x", 64<<10))
			got, _, requests := v.asked(t, true, func(w http.ResponseWriter, _ int32) {
				err := v.stream(w, v.begin)
				for err == nil {
					err = v.stream(w, piece)
				}
			})
			if got.Termination.Code != "truncation" || requests != 1 || len(got.Response) > model.MaxAnswer {
				t.Errorf("after %d requests it ended by %+v with %d bytes", requests, got.Termination, len(got.Response))
			}
		})
	}
}
