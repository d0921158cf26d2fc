package docs_test

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// manifests returns the documents of a YAML file.
func manifests(t *testing.T, name string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for d := yaml.NewDecoder(strings.NewReader(readText(t, name))); ; {
		var one map[string]any
		err := d.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, one)
	}
}

// at returns the value at a path of keys in nested mappings; a number is a list index.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for _, key := range path {
		switch k := key.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[k]
		case int:
			list, _ := v.([]any)
			if k >= len(list) {
				t.Fatalf("%v has no element %d", path, k)
			}
			v = list[k]
		}
		if v == nil {
			t.Fatalf("there is no %v", path)
		}
	}
	return v
}

// usesFlags checks that the flags in a command line exist.
func usesFlags(t *testing.T, where, name string, args ...string) {
	t.Helper()
	help, err := exec.CommandContext(t.Context(), program, name, "--help").Output()
	if err != nil {
		t.Fatalf("%s: runtime %s: %v", where, name, err)
	}
	for _, arg := range args {
		if flag, _, _ := strings.Cut(arg, "="); strings.HasPrefix(flag, "--") && flag != "--" && !bytes.Contains(help, []byte(flag)) {
			t.Errorf("%s: runtime %s has no flag %s", where, name, flag)
		}
	}
}

func TestTheManifestsOfKubernetesFit(t *testing.T) {
	t.Parallel()
	pod := at(t, manifests(t, "examples/deploy/kubernetes/deployment.yaml")[0], "spec", "template", "spec")
	container := at(t, pod, "containers", 0)
	args, _ := at(t, container, "args").([]any)
	var line []string
	for _, arg := range args {
		text, _ := arg.(string)
		line = append(line, text)
	}
	usesFlags(t, "deployment.yaml", line[0], line[1:]...)
	for probe, path := range map[string]string{"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"} {
		if got := at(t, container, probe, "httpGet", "path"); got != path {
			t.Errorf("%s asks %v", probe, got)
		}
		if !strings.Contains(readText(t, "server/probes.go"), `"GET `+path+`"`) {
			t.Errorf("the server has no %s", path)
		}
	}
	grace, _ := at(t, pod, "terminationGracePeriodSeconds").(int)
	pause, _ := at(t, container, "lifecycle", "preStop", "sleep", "seconds").(int)
	if grace < pause+30+10 {
		t.Errorf("a pod has %d seconds to end, of which it sleeps %d", grace, pause)
	}
	config := manifests(t, "examples/deploy/kubernetes/config.yaml")[0]
	if at(t, pod, "volumes", 0, "configMap", "name") != at(t, config, "metadata", "name") {
		t.Error("the deployment has another configuration")
	}
	dir := t.TempDir()
	data, _ := at(t, config, "data").(map[string]any)
	for name, content := range data {
		text, _ := content.(string)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	validate := exec.CommandContext(t.Context(), program, "validate", "--strict", filepath.Join(dir, "config.yaml"))
	validate.Env = append(os.Environ(), "DATABASE_URL=postgres://db/agents", "SERVER_KEY=ark_0123456789abcdef", "ENCRYPTION_KEY=MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if out, err := validate.CombinedOutput(); err != nil {
		t.Errorf("the configuration is not right: %v\n%s", err, out)
	}
	if _, rest, _ := strings.Cut(data["config.yaml"].(string), "data_dir: "); !strings.HasPrefix(rest, at(t, container, "volumeMounts", 1, "mountPath").(string)+"}") {
		t.Error("the runtime keeps its files where it may not write")
	}
	service := manifests(t, "examples/deploy/kubernetes/service.yaml")
	if at(t, service[0], "spec", "selector", "app.kubernetes.io/name") != at(t, pod, "containers", 0, "image").(string)[:len("agentruntime")] {
		t.Error("the service selects other pods")
	}
}

func TestTheUnitOfSystemdFits(t *testing.T) {
	t.Parallel()
	unit := readText(t, "examples/deploy/systemd/agentruntime.service")
	found := regexp.MustCompile(`(?m)^ExecStart(?:Pre)?=/usr/local/bin/runtime (\w+) (.*)$`).FindAllStringSubmatch(unit, -1)
	if len(found) != 2 {
		t.Fatalf("it starts %v", found)
	}
	for _, m := range found {
		usesFlags(t, "agentruntime.service", m[1], strings.Fields(m[2])...)
	}
	if !strings.Contains(unit, "ExecReload=/bin/kill -HUP $MAINPID") || !strings.Contains(unit, "DynamicUser=yes") {
		t.Error("it does not reload, or runs as root")
	}
}

// systemd itself verifies a unit if it is installed.
func TestTheUnitOfSystemdIsUnderstood(t *testing.T) {
	t.Parallel()
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd is not here")
	}
	unit := filepath.Join(t.TempDir(), "agentruntime.service")
	text := strings.ReplaceAll(readText(t, "examples/deploy/systemd/agentruntime.service"), "/usr/local/bin/runtime", program)
	if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), verify, "verify", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd says: %v\n%s", err, out)
	}
}

// The program built by make build and in the image has no system dependencies and prints its
// version.
func TestTheBinaryIsStaticAndKnowsItsVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "make", "build", "BIN="+dir, "VERSION=v1.2.3")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}
	made := filepath.Join(dir, "runtime")
	if out, err := exec.CommandContext(t.Context(), made, "version").Output(); err != nil || !strings.Contains(string(out), "v1.2.3") {
		t.Errorf("it says %s, %v", out, err)
	}
	info, err := buildinfo.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	for _, flag := range strings.Fields(buildFlags) {
		name, value, _ := strings.Cut(flag, "=")
		if got := settings[name]; got != cmp.Or(value, "true") {
			t.Errorf("it was built with %s=%s, not as buildFlags", name, got)
		}
	}
	if settings["CGO_ENABLED"] != "0" {
		t.Errorf("it was built with %v", settings)
	}
	binary, err := elf.Open(made)
	if err != nil {
		t.Skipf("it is no ELF file: %v", err)
	}
	defer binary.Close()
	libraries, err := binary.ImportedLibraries()
	if err != nil || len(libraries) > 0 || slices.ContainsFunc(binary.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Errorf("it needs %v, %v", libraries, err)
	}
	if !strings.Contains(readText(t, "Dockerfile"), "CGO_ENABLED=0 go build "+buildFlags+` -ldflags "-s -w -X main.release=${VERSION}"`) {
		t.Error("the Dockerfile builds it in another way")
	}
}

func TestTheImageFits(t *testing.T) {
	t.Parallel()
	text := readText(t, "Dockerfile")
	for _, want := range []string{"CGO_ENABLED=0", "-X main.release=", "distroless/static", "USER 65532:65532", `CMD ["serve", "/etc/agentruntime/config.yaml"]`} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %s", want)
		}
	}
	if !strings.Contains(readText(t, "go.mod"), "\ngo "+regexp.MustCompile(`golang:(\S+)`).FindStringSubmatch(text)[1]) {
		t.Error("it is built by another version of Go")
	}
	usesFlags(t, "Dockerfile", "serve")
}

func TestTheWorkflowThatAppliesFits(t *testing.T) {
	t.Parallel()
	const name = "examples/deploy/github/agents.yaml"
	workflow := manifests(t, name)[0]
	for job, command := range map[string][]string{"diff": {"validate", "diff", "eval"}, "apply": {"apply"}} {
		steps, _ := at(t, workflow, "jobs", job, "steps").([]any)
		last := at(t, steps[len(steps)-1], "run").(string)
		var commands []string
		for _, m := range regexp.MustCompile(`(?m)runtime (\w+) ([^;\n]*)`).FindAllStringSubmatch(last, -1) {
			commands = append(commands, m[1])
			usesFlags(t, name, m[1], strings.Fields(m[2])...)
		}
		if !slices.Equal(commands, command) {
			t.Errorf("the job %s runs %q, want %q", job, commands, command)
		}
		if strings.Contains(last, "${{") {
			t.Errorf("a value is a part of the script of %s", job)
		}
	}
}

func TestTheActionAndTheHookFit(t *testing.T) {
	t.Parallel()
	action := manifests(t, "action.yml")[0]
	script, _ := at(t, action, "runs", "steps", 2, "run").(string)
	m := regexp.MustCompile(`runtime" (\w+) (.*) --`).FindStringSubmatch(script)
	if m == nil {
		t.Fatalf("it runs %s", script)
	}
	usesFlags(t, "action.yml", m[1], strings.Fields(m[2])...)
	if strings.Contains(script, "${{") {
		t.Error("an input is a part of the script")
	}
	var hooks []map[string]any
	if err := yaml.Unmarshal([]byte(readText(t, ".pre-commit-hooks.yaml")), &hooks); err != nil {
		t.Fatal(err)
	}
	line := strings.Fields(at(t, hooks[0], "entry").(string))
	usesFlags(t, ".pre-commit-hooks.yaml", line[1], line[2:]...)
}
