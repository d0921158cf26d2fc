package provider

import (
	"cmp"
	"encoding/json"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/backend/provider/internal/hostservice"
	"github.com/agentruntime/agentruntime/backend/provider/internal/pool"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/hostlist"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/spec"
)

// config is the configuration of a provider, independent of its kind.
type config struct {
	Description string                            `json:"description,omitempty" doc:"The provider's purpose."`
	Config      json.RawMessage                   `json:"config,omitempty" doc:"Provider-specific configuration object. Only the provider reads it."`
	Connections map[string]hostservice.Connection `json:"connections,omitempty" doc:"Headers and parameters for other services, by name, which the provider may request during a turn."`

	StartupTimeout *spec.Duration `json:"startup_timeout,omitempty" alias:"startup_timeout_ms:ms" default:"45s" doc:"Maximum time for the provider to become ready."`
	HealthInterval *spec.Duration `json:"health_interval,omitempty" alias:"health_interval_ms:ms" default:"15s" doc:"The interval between health checks. Two consecutive failures replace the provider."`
	DrainTimeout   *spec.Duration `json:"drain_timeout,omitempty" alias:"drain_timeout_ms:ms" default:"30s" doc:"Time for running turns to finish when the provider is shut down or its configuration changes."`
}

// processConfig configures a provider that the runtime starts.
type processConfig struct {
	config

	Command []string          `json:"command" required:"true" doc:"The program and its arguments; no shell is involved."`
	Dir     string            `json:"dir,omitempty" path:"dir" doc:"The program's working directory, which also resolves a relative program path. Defaults to the runtime's directory."`
	Env     map[string]string `json:"env,omitempty" secret:"true" doc:"Environment variables of the program. It inherits only PATH, HOME, TMPDIR, LANG, TZ, SSL_CERT_FILE and SSL_CERT_DIR."`
	Pool    *poolConfig       `json:"pool,omitempty" doc:"The number of processes. Defaults to one."`
}

// Program returns the program with its arguments, and its working directory.
func (c *processConfig) Program() (command []string, dir string) { return c.Command, c.Dir }

// poolConfig is the number of a provider's processes.
type poolConfig struct {
	MinReady int    `json:"min_ready,omitempty" min:"1" max:"64" default:"1" doc:"Processes started together when a server starts or the provider is first used."`
	MaxReady int    `json:"max_ready,omitempty" min:"1" max:"64" doc:"Maximum processes. Another is started when all have turns to work on. Defaults to min_ready. A session stays with its process."`
	Restart  string `json:"restart,omitempty" enum:"always|never" default:"always" doc:"Whether a process that exits is restarted, with increasing delays."`
}

// addressConfig configures a provider that is already running.
type addressConfig struct {
	config

	Address     string `json:"address" required:"true" doc:"The provider's address: unix: and a socket path, or a host:port on this machine. The protocol is not encrypted."`
	HostAddress string `json:"host_address,omitempty" doc:"The runtime's address for calls from the provider, in the same forms. If empty, the provider gets no tools."`
	GrantKey    string `json:"grant_key,omitempty" secret:"true" doc:"The secret that signs grants, 32 characters or more. A fixed secret lets the provider's turns survive a runtime restart. Random by default."`
}

// withoutSecrets returns a copy without the values of headers.
func (c *config) withoutSecrets() config {
	shown := *c
	shown.Connections = maps.Clone(c.Connections)
	for name, one := range shown.Connections {
		one.Headers = redact.Values(one.Headers)
		shown.Connections[name] = one
	}
	return shown
}

// MarshalJSON writes the record without the values of headers and environment variables.
func (c processConfig) MarshalJSON() ([]byte, error) {
	type plain processConfig
	c.config, c.Env = c.withoutSecrets(), redact.Values(c.Env)
	return json.Marshal(plain(c))
}

// MarshalJSON writes the record without the values of headers and the key.
func (c addressConfig) MarshalJSON() ([]byte, error) {
	type plain addressConfig
	c.config, c.GrantKey = c.withoutSecrets(), redact.Text(c.GrantKey)
	return json.Marshal(plain(c))
}

// Validate checks the rules that tags cannot express.
func (c *config) Validate() diag.List {
	var list diag.List
	if len(c.Config) > 0 {
		var fields map[string]any
		if json.Unmarshal(c.Config, &fields) != nil {
			list = append(list, diag.New(diag.InvalidValue, "config", "config must be an object"))
		}
	}
	for name, d := range map[string]*spec.Duration{"startup_timeout": c.StartupTimeout, "health_interval": c.HealthInterval} {
		if d != nil && *d <= 0 {
			list = append(list, diag.New(diag.InvalidValue, name, "%s is %s; it must be more than 0", name, d))
		}
	}
	if d := c.DrainTimeout; d != nil && *d < 0 {
		list = append(list, diag.New(diag.InvalidValue, "drain_timeout", "drain_timeout is %s; it must not be negative", d))
	}
	return list
}

// Validate checks the rules that tags cannot express.
func (c *processConfig) Validate() diag.List {
	list := c.config.Validate()
	if len(c.Command) > 0 && c.Command[0] == "" {
		list = append(list, diag.New(diag.InvalidValue, diag.Index("command", 0), "the program has no name"))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if strings.HasPrefix(name, "GESTALT_") {
			list = append(list, diag.New(diag.InvalidValue, diag.Key("env", name), "the runtime sets the variables that begin with GESTALT_ itself"))
		}
	}
	if p := c.Pool; p != nil && p.MaxReady > 0 && p.MaxReady < max(p.MinReady, 1) {
		list = append(list, diag.New(diag.InvalidValue, "pool.max_ready", "max_ready is %d; it must not be less than min_ready, %d", p.MaxReady, max(p.MinReady, 1)))
	}
	return list
}

// minGrantKey is the minimum length of a key in bytes.
const minGrantKey = 32

// Validate checks the rules that tags cannot express.
func (c *addressConfig) Validate() diag.List {
	list := append(c.config.Validate(), checkAddress("address", c.Address)...)
	list = append(list, checkAddress("host_address", c.HostAddress)...)
	if n := len(c.GrantKey); n > 0 && n < minGrantKey {
		list = append(list, diag.New(diag.InvalidValue, "grant_key", "grant_key has %d bytes; it must have %d or more", n, minGrantKey))
	}
	return list
}

// checkAddress checks a listening address, which must be local because the protocol is not
// encrypted.
func checkAddress(path, address string) diag.List {
	if address == "" {
		return nil
	}
	if file, ok := strings.CutPrefix(address, "unix:"); ok {
		if file == "" {
			return diag.List{diag.New(diag.InvalidValue, path, "the path of the socket is required after unix:")}
		}
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return diag.List{diag.New(diag.InvalidValue, path, "%s must be unix: and a path, or host:port", path)}
	}
	if !hostlist.IsLoopback(host) {
		return diag.List{diag.New(diag.InvalidValue, path, "%s must be on this machine: the protocol is not encrypted", path).
			WithHint("use 127.0.0.1, ::1 or a unix socket; a tunnel can lead elsewhere")}
	}
	return nil
}

// fill sets the settings common to both kinds of hosting.
func (c *config) fill(s *pool.Settings) {
	s.StartupTimeout = durationOr(c.StartupTimeout, 45*time.Second)
	s.HealthInterval = durationOr(c.HealthInterval, 15*time.Second)
	s.DrainTimeout = durationOr(c.DrainTimeout, 30*time.Second)
	s.MinReady, s.MaxReady = 1, 1
}

func durationOr(d *spec.Duration, usual time.Duration) time.Duration {
	if d == nil {
		return usual
	}
	return d.Std()
}

// fill sets how the processes of the provider are started.
func (c *processConfig) fill(s *pool.Settings) {
	c.config.fill(s)
	s.Command, s.Dir, s.Env = c.Command, c.Dir, c.Env
	if p := c.Pool; p != nil {
		s.MinReady = max(p.MinReady, 1)
		s.MaxReady = cmp.Or(p.MaxReady, s.MinReady)
		s.NeverRestart = p.Restart == "never"
	}
}

// fill sets where the provider listens.
func (c *addressConfig) fill(s *pool.Settings, dir string) {
	c.config.fill(s)
	s.Address, s.HostAddress = resolveSocket(c.Address, dir), resolveSocket(c.HostAddress, dir)
}

// resolveSocket returns an address with its socket path resolved below a directory.
func resolveSocket(address, dir string) string {
	if path, ok := strings.CutPrefix(address, "unix:"); ok && !filepath.IsAbs(path) {
		return "unix:" + filepath.Join(dir, path)
	}
	return address
}
