package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// streamAgent asks for a turn of the agents API as a stream, or for a stream again; nil when
// nobody answers.
func streamAgent(t *testing.T, base, body, streamID string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/agents/clerk", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = bearer(rightKey)
	req.Header.Set("Accept", "text/event-stream")
	if streamID != "" {
		req.Header.Set("X-Genkit-Stream-Id", streamID)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return nil
	}
	return resp
}

// readAgent reads a stream up to some frames, or to its end, and returns the text of the
// model and the result, if there is one.
func readAgent(t *testing.T, resp *http.Response, most int) (said string, result map[string]any) {
	t.Helper()
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var frame struct {
			Message struct {
				ModelChunk struct{ Content []struct{ Text string } }
			}
			Result map[string]any
		}
		if err := json.Unmarshal([]byte(data), &frame); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		for _, part := range frame.Message.ModelChunk.Content {
			said += part.Text
		}
		if frame.Result != nil {
			return said, frame.Result
		}
		if most--; most == 0 {
			return said, nil
		}
	}
	return said, nil
}

func TestStreamsOfAgentsSurviveTheDeathOfTheirServer(t *testing.T) {
	t.Parallel()
	const (
		story = "once upon a time there was a server that was killed in the middle of a word and yet told all of it to the end"
		body  = `{"data":{"message":{"role":"user","content":[{"text":"Tell a story"}]}},"init":{"sessionId":"mine"}}`
	)
	for name, store := range map[string]func(*testing.T) string{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := mortal(t, store(t), "")
			s := f.start("127.0.0.1:0")
			resp := streamAgent(t, s.url, body, "")
			id := resp.Header.Get("X-Genkit-Stream-Id")
			if said, _ := readAgent(t, resp, 3); said == "" || !strings.HasPrefix(story, said) || id == "" {
				t.Fatalf("stream %q begins with %q", id, said)
			}
			s.kill()
			f.start(s.address)
			deadline := time.After(time.Minute)
			for {
				if resp := streamAgent(t, s.url, body, id); resp != nil && resp.StatusCode == http.StatusOK {
					if said, result := readAgent(t, resp, 0); result != nil {
						if !strings.HasSuffix(said, story) || result["finishReason"] != "stop" {
							t.Errorf("the stream says %q and ends with %v", said, result)
						}
						break
					}
				} else if resp != nil {
					text, _ := io.ReadAll(resp.Body)
					t.Fatalf("%s %s", resp.Status, text)
				}
				select {
				case <-deadline:
					t.Fatal("the stream does not end")
				case <-time.After(20 * time.Millisecond):
				}
			}
			if resp := streamAgent(t, s.url, body, id); resp != nil {
				if said, result := readAgent(t, resp, 0); said != story || result["finishReason"] != "stop" {
					t.Errorf("read again, the stream says %q and ends with %v", said, result)
				}
			}
			if counted, err := os.ReadFile(f.counted); err == nil {
				t.Errorf("a tool that nobody called left %q", counted)
			}
		})
	}
}
