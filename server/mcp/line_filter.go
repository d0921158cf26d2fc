package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"go.uber.org/zap"
)

// maxDepth is the maximum nesting depth of a message that the SDK decodes.
const maxDepth = 1000

// lineFilter accepts the messages that the SDK can decode: any other would end its connection. It
// answers the others with errors.
type lineFilter struct {
	out    io.Writer
	logger *zap.Logger
	// batches is set if the client's version is one of batchVersions.
	batches bool
}

// batchVersions are the versions in which the SDK reads batches.
var batchVersions = []string{"2024-11-05", "2025-03-26"}

// accept reports whether the SDK can decode a message, and answers it if not.
func (f *lineFilter) accept(line []byte) bool {
	code, wrong := f.checkLine(line)
	if wrong != nil {
		f.reject(callID(line), code, wrong)
	}
	return wrong == nil
}

// reject answers a message with an error; a nil id is unknown.
func (f *lineFilter) reject(id json.RawMessage, code int, wrong error) {
	text := clip.Text(wrong.Error())
	f.logger.Warn("the client sent an invalid message", zap.String("error", text))
	answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text}}) // id is valid JSON
	_, _ = f.out.Write(append(answer, '\n'))                                                                                      // the next answer reports a broken output
}

// checkLine returns an error and its JSON-RPC code if a line has no messages that the SDK can decode.
func (f *lineFilter) checkLine(line []byte) (code int, _ error) {
	if !json.Valid(line) {
		return jsonrpc.CodeParseError, errors.New("the message is not valid JSON")
	}
	if depth, _ := rawjson.Measure(line); depth > maxDepth {
		return jsonrpc.CodeParseError, fmt.Errorf("the message is nested deeper than %d levels", maxDepth)
	}
	if line[0] == '[' {
		return jsonrpc.CodeInvalidRequest, f.checkBatch(line)
	}
	message, err := jsonrpc.DecodeMessage(line)
	if call, ok := message.(*jsonrpc.Request); ok && call.Method == methodInitialize {
		var begin struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		_ = json.Unmarshal(call.Params, &begin) // the SDK rejects others
		f.batches = slices.Contains(batchVersions, begin.ProtocolVersion)
	}
	return jsonrpc.CodeInvalidRequest, err
}

// checkBatch returns an error for a batch that the SDK cannot decode.
func (f *lineFilter) checkBatch(line []byte) error {
	if !f.batches {
		return errors.New("batches are not supported: send each message in a line")
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(line, &batch); err != nil {
		return err // not reached: it is a list
	}
	if len(batch) == 0 {
		return errors.New("the batch has no messages")
	}
	ids := make(map[jsonrpc.ID]bool)
	for _, one := range batch {
		message, err := jsonrpc.DecodeMessage(one)
		if err != nil {
			return err
		}
		if call, ok := message.(*jsonrpc.Request); ok {
			if ids[call.ID] {
				return errors.New("two messages of the batch have one id")
			}
			ids[call.ID] = true
		}
	}
	return nil
}

// callID returns the id of a call that cannot be decoded; nil if it has none.
func callID(line []byte) json.RawMessage {
	var call struct {
		ID     any    `json:"id"`
		Method string `json:"method"`
	}
	if json.Unmarshal(line, &call) != nil || call.Method == "" {
		return nil
	}
	switch call.ID.(type) {
	case string, float64:
		id, _ := json.Marshal(call.ID) // a string or a number
		return id
	default:
		return nil
	}
}

// lockedWriter makes writes exclusive.
type lockedWriter struct {
	mu sync.Mutex
	io.WriteCloser
}

// Write writes a message.
func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(p)
}
