package mcp

import (
	"context"
	"io"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/jsonlines"
	"github.com/agentruntime/agentruntime/service"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"
)

type localKey struct{}

// maxLine bounds a message on a stream of lines, in bytes.
const maxLine = 16 << 20

// ServeLines serves one client over a stream of lines, such as the process's standard input and
// output, until the client closes it or ctx ends. All calls belong to the caller.
func (s *Surface) ServeLines(ctx context.Context, caller service.Caller, in io.ReadCloser, out io.WriteCloser) error {
	ctx = context.WithValue(ctx, localKey{}, caller)
	lines := jsonlines.NewReader(in, maxLine, func(line string) {
		s.settings.Logger.Warn("the client sent a line that is not a message", zap.String("line", clip.Text(line)))
	})
	writer := &lockedWriter{WriteCloser: out}
	lines.Accept = (&lineFilter{out: writer, logger: s.settings.Logger}).accept
	err := s.server.Run(ctx, taskTransport{&mcp.IOTransport{Reader: readCloser{lines, in}, Writer: writer, MaxLineLength: maxLine}})
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it was asked to end
	}
	return err
}

// readCloser reads the rest of a stream and closes the stream.
type readCloser struct {
	io.Reader
	io.Closer
}
