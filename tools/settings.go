package tools

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
)

// The limits of max_output of configured tool kinds, in bytes.
const (
	minConfiguredOutput = 256
	maxConfiguredOutput = 1 << 20
)

// CheckSettings checks the settings that configured tool kinds have in common: effect, timeout and
// max_output. A nil timeout is absent.
func CheckSettings(effect Effect, timeout *spec.Duration, maxOutput int) diag.List {
	var list diag.List
	switch effect {
	case Read, Idempotent, Once:
	default:
		list = append(list, diag.New(diag.InvalidValue, "effect",
			"effect is %q; allowed are read, idempotent and once", effect))
	}
	if timeout != nil && *timeout <= 0 {
		list = append(list, diag.New(diag.InvalidValue, "timeout", "timeout is %s; it must be more than 0", timeout))
	}
	if maxOutput < minConfiguredOutput || maxOutput > maxConfiguredOutput {
		list = append(list, diag.New(diag.InvalidValue, "max_output",
			"max_output is %d; it must be from %d to %d", maxOutput, minConfiguredOutput, maxConfiguredOutput))
	}
	return list
}

// CheckEnvironment checks the setting env, the environment variables of a program.
func CheckEnvironment(env map[string]string) diag.List {
	var list diag.List
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			list = append(list, diag.New(diag.InvalidValue, diag.Key("env", name), "invalid environment variable name"))
		case strings.Contains(env[name], "\x00"):
			list = append(list, diag.New(diag.InvalidValue, diag.Key("env", name), "the value has a NUL character"))
		}
	}
	return list
}

// CallTimeout returns the setting timeout, or DefaultTimeout if it is absent.
func CallTimeout(timeout *spec.Duration) time.Duration {
	if timeout == nil {
		return DefaultTimeout
	}
	return timeout.Std()
}

// OutputLimit returns the setting max_output in bytes, or MaxOutput if it is absent.
func OutputLimit(maxOutput int) int { return cmp.Or(maxOutput, MaxOutput) }
