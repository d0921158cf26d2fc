package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func TestTheLogIsTextOnATerminalAndJSONElsewhere(t *testing.T) {
	t.Parallel()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer terminal.Close()
	if _, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS); err != nil {
		t.Skip(err)
	}
	none, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer none.Close()
	for _, tt := range []struct {
		name, chosen string
		out          interface{ Write([]byte) (int, error) }
		want         string
	}{
		{"a terminal", "", terminal, logText},
		{"no terminal", "", none, logJSON},
		{"a buffer", "", &bytes.Buffer{}, logJSON},
		{"json on a terminal", logJSON, terminal, logJSON},
		{"text elsewhere", logText, none, logText},
	} {
		if got := newLogOutput(tt.out, &command.Choice{Value: tt.chosen}).format; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestPropertyNoFormatOfTheLogShowsASecret logs a secret in every value that a plugin may choose.
// Lines of JSON stay objects.
func TestPropertyNoFormatOfTheLogShowsASecret(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringOfN(rapid.RuneFrom([]rune("a1 \"\\<>&\n\té☃")), 6, 20, -1).Draw(t, "secret") + "Zq7"
		redact := func(text string) string { return strings.ReplaceAll(text, secret, "***") }
		var out bytes.Buffer
		log := newLogOutput(&out, &command.Choice{Value: logJSON})
		log.redact = redact
		newLogger(log, true).Named("n"+secret).Warn("m "+secret, zap.String("text", secret), zap.String(secret, "name"),
			zap.String("reason", secret), zap.Any("nested", map[string]any{"a": []string{"x" + secret}, secret: 1}))
		var line map[string]any
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatalf("%v: %s", err, out.Bytes())
		}
		if told := flatten(line); strings.Contains(told, secret) {
			t.Fatalf("%q is told: %s", secret, told)
		}
	})
}

// flatten returns all texts in a value, concatenated.
func flatten(v any) string {
	switch v := v.(type) {
	case string:
		return v + "\x00"
	case []any:
		var all strings.Builder
		for _, one := range v {
			all.WriteString(flatten(one))
		}
		return all.String()
	case map[string]any:
		var all strings.Builder
		for name, one := range v {
			all.WriteString(name + "\x00" + flatten(one))
		}
		return all.String()
	default:
		return ""
	}
}

func TestANumberThatIsSecretIsNotLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := newLogOutput(&out, &command.Choice{Value: logJSON})
	log.redact = func(text string) string { return strings.ReplaceAll(text, "20240817", "***") }
	newLogger(log, true).Info("m", zap.Int("pin", 20240817), zap.Int("other", 7), zap.Ints("many", []int{1, 20240817, -3}))
	var line struct {
		Pin   any
		Other int
		Many  []any
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || strings.Contains(out.String(), "20240817") || line.Other != 7 || line.Pin != "***" || len(line.Many) != 3 {
		t.Errorf("%v: %s", err, out.String())
	}
}
