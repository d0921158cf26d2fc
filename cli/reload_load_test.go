package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A reload does not disturb running requests, and new requests use the new configuration. Stopping
// the server does no harm either.
func TestStreamsGoOnWhileTheConfigurationChanges(t *testing.T) {
	t.Parallel()
	f := mortal(t, onSQLite(t), "turns: {grace: 2s}") // the wait for a client that owes an answer
	file := filepath.Join(f.dir, "config.yaml")
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const newKey = "ark_new-new-new-new"
	second := strings.Replace(string(first), "{id: desk, key: "+rightKey, "{id: other, subject: desk, key: "+newKey, 1)
	broken := strings.Replace(second, "model_id: m", "model_id: none", 1)

	s := f.start("127.0.0.1:0")
	c := &runsClient{t: t, base: s.url}
	waiting := c.begin(`"prompt":"Look once",` + lookTool)
	waiting.await("local_tool_call", 1)
	stories := make([]*followed, 8)
	for i := range stories {
		stories[i] = c.begin(`"prompt":"Tell a story"`)
	}
	hangup := func(says string, n int) {
		t.Helper()
		if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		s.await(t, says, n)
	}
	may := func(key string, want int) {
		t.Helper()
		c.show(key)
		if status, answer := c.get("/models"); status != want {
			t.Errorf("%s is answered with %d %v", key, status, answer)
		}
	}
	for n := 1; n <= 3; n++ {
		write(broken)
		hangup("runtime: not reloaded", n)
		may(newKey, http.StatusUnauthorized)
		may(rightKey, http.StatusOK)
		write(second)
		hangup("runtime: reloaded", 2*n-1)
		may(rightKey, http.StatusUnauthorized)
		may(newKey, http.StatusOK)
		write(string(first))
		hangup("runtime: reloaded", 2*n)
	}
	c.show("")
	for _, story := range stories {
		if last := story.end(); last["type"] != "result" || story.streams != 1 {
			t.Errorf("it took %d streams to the end: %v", story.streams, last)
		}
		story.compare()
	}

	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	if s.err != nil {
		t.Errorf("the end is not clean: %v\n%s", s.err, s.said.String())
	}
	waiting.check()
	f.start(s.address)
	waiting.answer(http.StatusOK, "call_once", "seen once")
	if last := waiting.end(); last["text"] != "It was seen." {
		t.Errorf("it ends with %v", last)
	}
	waiting.compare()
}
