//go:build unix && !race

package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The clients of the runs are a separate process, so that their cost is not counted for the server.
// They implement the protocol with minimal overhead.

// clientsVariable holds the order for a client process, as JSON.
const clientsVariable = "AGENTRUNTIME_BENCH_CLIENTS"

// order is the job of a client process.
type order struct {
	Kind    string
	Address string
	Key     string
	// Clients is the number of concurrent clients, and Runs the total number of runs they make.
	Clients, Runs int
	// Body is the body of the request for a run.
	Body string
	// Path is the stream of a run to read or, for idle clients, a JSON file with such paths. Settle
	// is the clients' settling time before their observations count.
	Path   string
	Settle time.Duration
	// Stream defines how an idle client follows a run.
	Stream idleStream
}

// idleStream defines how a client follows a run until the run waits for the client.
type idleStream struct {
	// Path is the path of the stream, with %s for the run's id; if empty, the stream named in the
	// response to the run request is used.
	Path string
	// Headers are additional header lines of the request.
	Headers string
	// Until is contained in the event that reports that the run waits.
	Until string
}

// clientReport is the report of a client process.
type clientReport struct {
	// Took holds the measured times.
	Took []time.Duration
	// Wall is the total elapsed time.
	Wall time.Duration
	// Events is the number of events read.
	Events int
	// Streams are the stream paths of the created runs.
	Streams []string
	Error   string
}

// TestServerClients is the client process. It does nothing unless it was started as such.
func TestServerClients(t *testing.T) {
	text := os.Getenv(clientsVariable)
	if text == "" {
		t.Skip("only started by the benchmarks")
	}
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	work, ok := map[string]func(context.Context, order) (clientReport, error){
		"create": createRuns, "whole": wholeRuns, "live": liveRuns, "idle": idleRuns, "replay": replayRun,
	}[o.Kind]
	if !ok {
		t.Fatalf("there is no work %q", o.Kind)
	}
	made, err := work(t.Context(), o)
	if err != nil {
		made.Error = err.Error()
	}
	answer(t, made)
	_, _ = io.Copy(io.Discard, os.Stdin) // connections stay open until the benchmark has looked
}

// answer writes a report for the benchmark.
func answer(t *testing.T, made clientReport) {
	t.Helper()
	if err := json.NewEncoder(os.Stderr).Encode(made); err != nil {
		t.Fatal(err)
	}
}

// runClients starts a client process and returns its report. Its connections stay open until end is
// called.
func runClients(b *testing.B, o order) (seen clientReport, end func()) {
	b.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestServerClients$") //nolint:gosec // the test binary itself
	cmd.Env = append(os.Environ(), clientsVariable+"="+string(text))
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	b.Cleanup(end)
	if err := json.NewDecoder(out).Decode(&seen); err != nil || seen.Error != "" {
		b.Fatalf("the clients report %q, %v", seen.Error, err)
	}
	return seen, end
}

// wire is one connection of a client.
type wire struct {
	conn net.Conn
	in   *bufio.Reader
	head string
}

func dial(ctx context.Context, o *order) (*wire, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", o.Address)
	if err != nil {
		return nil, err
	}
	return &wire{conn: conn, in: bufio.NewReaderSize(conn, 4<<10), head: " HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer " + o.Key + "\r\n"}, nil
}

const runsPath = "/api/v1/workspaces/bench/agent-runs"

// create makes a run and returns the path of its stream.
func (w *wire) create(body string) (string, error) {
	if _, err := io.WriteString(w.conn, "POST "+runsPath+w.head+"Content-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body); err != nil {
		return "", err
	}
	resp, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	var made struct{ StreamURL string }
	if err := json.Unmarshal(text, &made); err != nil || resp.StatusCode != http.StatusAccepted {
		return "", fmt.Errorf("%s %s", resp.Status, text)
	}
	return made.StreamURL, nil
}

// follow reads the events of a stream as JSON until the last event or until see returns false.
// headers are additional header lines of the request.
func (w *wire) follow(path string, see func(data []byte) bool, headers ...string) error {
	if _, err := io.WriteString(w.conn, "GET "+path+w.head+strings.Join(headers, "")+"\r\n"); err != nil {
		return err
	}
	resp, err := http.ReadResponse(w.in, nil) //nolint:bodyclose // that would read on to an end that may never come
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	lines := bufio.NewReaderSize(resp.Body, 8<<10)
	var long []byte
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) || len(long) > 0 {
			long = append(long, line...)
			line = long
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && !see(data) {
			return nil
		}
		long = long[:0]
	}
}

// atOnce runs the given number of clients concurrently.
func atOnce(ctx context.Context, o *order, work func(w *wire, client int) error) error {
	errs := make([]error, o.Clients)
	var all sync.WaitGroup
	for i := range o.Clients {
		w, err := dial(ctx, o)
		if err != nil {
			return err
		}
		all.Go(func() { errs[i] = work(w, i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// createRuns creates runs sequentially.
func createRuns(ctx context.Context, o order) (made clientReport, err error) {
	w, err := dial(ctx, &o)
	for range o.Runs {
		if err != nil {
			break
		}
		begun := time.Now()
		var stream string
		stream, err = w.create(o.Body)
		made.Took, made.Streams = append(made.Took, time.Since(begun)), append(made.Streams, stream)
	}
	return made, err
}

// wholeRuns makes runs and follows each to its end.
func wholeRuns(ctx context.Context, o order) (made clientReport, err error) {
	took := make([][]time.Duration, o.Clients)
	begun := time.Now()
	err = atOnce(ctx, &o, func(w *wire, client int) error {
		for range o.Runs / o.Clients {
			begun := time.Now()
			path, err := w.create(o.Body)
			if err != nil {
				return err
			}
			var last []byte
			err = w.follow(path, func(data []byte) bool { last = append(last[:0], data...); return true })
			if err != nil || !bytes.Contains(last, []byte(`"ok":true`)) {
				return fmt.Errorf("the run ends with %s, %w", last, err)
			}
			took[client] = append(took[client], time.Since(begun))
		}
		return nil
	})
	made.Wall = time.Since(begun)
	for _, list := range took {
		made.Took = append(made.Took, list...)
	}
	return made, err
}

// liveRuns creates a run for each client and follows it. The text of each delta is the list of
// times at which the model emitted it.
func liveRuns(ctx context.Context, o order) (made clientReport, err error) {
	var mu sync.Mutex
	from := time.Now().Add(o.Settle).UnixNano()
	err = atOnce(ctx, &o, func(w *wire, client int) error {
		time.Sleep(time.Duration(client) * o.Settle / time.Duration(2*o.Clients)) // so that they do not emit in lockstep
		path, err := w.create(o.Body)
		if err != nil {
			return err
		}
		var took []time.Duration
		events, ended := 0, false
		err = w.follow(path, func(data []byte) bool {
			now := time.Now().UnixNano()
			events++
			ended = ended || bytes.Contains(data, []byte(`"type":"result"`))
			if !bytes.Contains(data, []byte(`"type":"assistant_delta"`)) {
				return true
			}
			for _, stamp := range strings.Fields(between(data, `"text":"`, `"`)) {
				if at, err := strconv.ParseInt(stamp, 10, 64); err == nil && at > from {
					took = append(took, time.Duration(now-at))
				}
			}
			return true
		})
		if err == nil && !ended {
			err = errors.New("the stream ends before the run")
		}
		mu.Lock()
		defer mu.Unlock()
		made.Took, made.Events = append(made.Took, took...), made.Events+events
		return err
	})
	return made, err
}

// between returns the text between two texts.
func between(data []byte, before, after string) string {
	_, rest, _ := bytes.Cut(data, []byte(before))
	found, _, _ := bytes.Cut(rest, []byte(after))
	return string(found)
}

// idleRuns follows each run until it waits for its client. The connections stay open.
func idleRuns(ctx context.Context, o order) (made clientReport, err error) {
	const makers = 16
	data, err := os.ReadFile(o.Path)
	if err != nil {
		return made, err
	}
	var streams []string
	if err := json.Unmarshal(data, &streams); err != nil {
		return made, err
	}
	wires := make([]*wire, len(streams))
	errs := make([]error, makers)
	var all sync.WaitGroup
	for m := range makers {
		all.Go(func() {
			for i := m; i < len(wires) && errs[m] == nil; i += makers {
				if wires[i], errs[m] = dial(ctx, &o); errs[m] != nil {
					break
				}
				stream := streams[i]
				if o.Stream.Path != "" {
					stream = fmt.Sprintf(o.Stream.Path, path.Base(path.Dir(stream)))
				}
				errs[m] = wires[i].follow(stream, func(data []byte) bool { return !bytes.Contains(data, []byte(o.Stream.Until)) }, o.Stream.Headers)
			}
		})
	}
	all.Wait()
	heldWires = wires
	return made, errors.Join(errs...)
}

// heldWires prevents garbage collection, and so closing, of idle connections.
var heldWires []*wire

// replayRun reads a whole stream several times, and decodes its events.
func replayRun(ctx context.Context, o order) (made clientReport, err error) {
	w, err := dial(ctx, &o)
	for range o.Runs {
		if err != nil {
			break
		}
		made.Events = 0
		begun := time.Now()
		err = w.follow(o.Path, func(data []byte) bool {
			var ev struct {
				Seq  int    `json:"seq"`
				Type string `json:"type"`
				Text string `json:"text"`
			}
			if json.Unmarshal(data, &ev) == nil && ev.Seq > 0 {
				made.Events++
			}
			return true
		})
		made.Took = append(made.Took, time.Since(begun))
	}
	return made, err
}
