package providerproto_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/grpcpy"
)

var update = flag.Bool("update", false, "write the generated files anew")

// generators are the protoc plugins: the message generator in go.mod's version of the library, the
// service generator in its own version.
var generators = []string{
	"google.golang.org/protobuf/cmd/protoc-gen-go",
	"google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
}

func TestTheGeneratedCodeIsThatOfTheProtocol(t *testing.T) {
	interpreter := grpcpy.Interpreter(t)
	plugins, out := t.TempDir(), t.TempDir()
	args := []string{"--proto_path=.", "--go_out=paths=source_relative:" + out, "--go-grpc_out=paths=source_relative:" + out}
	for _, generator := range generators {
		install := exec.CommandContext(t.Context(), "go", "install", generator)
		install.Env = append(os.Environ(), "GOBIN="+plugins, "CGO_ENABLED=0", "GOFLAGS=-trimpath -tags=grpcnotrace -gcflags=all=-dwarf=false")
		if said, err := install.CombinedOutput(); err != nil {
			t.Fatalf("install %s: %v\n%s", generator, err, said)
		}
		path, _, _ := strings.Cut(generator, "@")
		name := filepath.Base(path)
		args = append(args, "--plugin="+name+"="+filepath.Join(plugins, name))
	}
	grpcpy.Compile(t, interpreter, append(args, "provider.proto")...)
	for _, name := range []string{"provider.pb.go", "provider_grpc.pb.go"} {
		made, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(name, made, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		kept, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if string(kept) != string(made) {
			t.Errorf("%s is not what protoc makes of provider.proto; run \"make proto\"", name)
		}
	}
}
