package mcp

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/agentruntime/agentruntime/service"
	"go.uber.org/goleak"
)

// stdioVariable makes the process of a test a server on its standard input and output.
const stdioVariable = "MCP_TEST_STDIO"

func TestMain(m *testing.M) {
	if os.Getenv(stdioVariable) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	fmt.Fprintln(os.Stderr, "serving")
	testing.Init()
	os.Exit(serveLines())
}

// serveLines serves the agents of the tests until the client closes the input.
func serveLines() (code int) {
	testing.Benchmark(func(b *testing.B) {
		w := servingFor(b, everybody{})
		err := w.surface.ServeLines(context.Background(), service.Caller{Tenant: "acme", Subject: "local"}, os.Stdin, nopCloser{os.Stdout})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	})
	return code
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
