// Package grpcpy gives tests gRPC for Python and its protocol compiler, both pinned.
package grpcpy

import (
	_ "embed"
	"os/exec"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/pyenv"
)

//go:embed requirements.txt
var requirements []byte

// Interpreter returns a Python with grpcio, protobuf and grpcio-tools. Without Python or a network
// the test is skipped, or fails in CI.
func Interpreter(t testing.TB) string {
	t.Helper()
	return pyenv.Interpreter(t, requirements)
}

// Compile runs protoc with arguments. The files shipped with protoc are included.
func Compile(t testing.TB, interpreter string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), interpreter, append([]string{"-m", "grpc_tools.protoc"}, args...)...)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("protoc: %v\n%s", err, said)
	}
}
