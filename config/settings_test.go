package config_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

const oneAgent = "version: 1\nagents: {a: {model_id: m}}\n"

func TestAConfigurationThatSaysNothingKeepsItsRecordsBesideIt(t *testing.T) {
	t.Parallel()
	f, list := config.Parse([]config.Source{
		{Name: "base/config.yaml", Data: []byte("version: 1\n")},
		{Name: "prod/config.yaml", Data: []byte("version: 1\nstore:\nturns: {}\n")},
	}, options(nil))
	if len(list) > 0 {
		t.Fatal(shows(list))
	}
	want := settings.Store{Driver: "sqlite", DSN: filepath.Join("base", ".runtime", "runtime.db"), DataDir: filepath.Join("base", ".runtime")}
	if diff := cmp.Diff(want, f.Store); diff != "" {
		t.Error(diff)
	}
	if f, _ := config.Parse(nil, options(nil)); f.Store.Driver != "sqlite" {
		t.Errorf("without a file the store is %+v", f.Store)
	}
}

func TestPathsOfTheStoreStartAtTheFileThatNamesThem(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		base, prod, dsn, dir string
	}{
		"a directory":           {"store: {data_dir: data}", "turns: {}", "base/data/runtime.db", "base/data"},
		"one that is later":     {"store: {data_dir: data}", "store: {data_dir: data}", "prod/data/runtime.db", "prod/data"},
		"a file":                {"store: {dsn: x.db}", "store: {data_dir: data}", "base/x.db", "prod/data"},
		"a file of a variable":  {"store: {dsn: \"${DIR}/x.db\"}", "store: {driver: sqlite}", "base/var/x.db", "base/.runtime"},
		"a file that is rooted": {"store: {dsn: /x.db}", "", "/x.db", "base/.runtime"},
		"a database":            {"store: {dsn: x.db}", "store: {driver: postgres, dsn: \"postgres://h/db\"}", "postgres://h/db", "base/.runtime"},
		"memory":                {"store: {driver: memory}", "", "", "base/.runtime"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, list := config.Parse([]config.Source{
				{Name: "base/config.yaml", Data: []byte("version: 1\n" + tt.base + "\n")},
				{Name: "prod/config.yaml", Data: []byte("version: 1\n" + tt.prod + "\n")},
			}, options(map[string]string{"DIR": "var"}))
			if slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code != diag.NoEffect }) {
				t.Error(shows(list))
			}
			if f.Store.DSN != filepath.FromSlash(tt.dsn) || f.Store.DataDir != filepath.FromSlash(tt.dir) {
				t.Errorf("dsn %s, data_dir %s", f.Store.DSN, f.Store.DataDir)
			}
		})
	}
}

func TestSettingsOfSeveralFilesAreMergedFieldByField(t *testing.T) {
	t.Parallel()
	f, list := config.Parse([]config.Source{
		{Name: "a", Data: []byte(oneAgent + lines(
			"store: {retention: {sessions: 720h, events: 168h}}",
			"turns: {concurrency: 4, lease: 10s, indeterminate: ask}",
			"schedules:",
			"  daily: {cron: \"0 9 * * 1-5\", time_zone: Europe/Berlin, agent: a, prompt: Report.}",
			"  hourly: {cron: \"@hourly\", agent: a, prompt: Look.}",
		))},
		{Name: "b", Data: []byte("version: 1\n" + lines(
			"store: {retention: {events: 24h, keys: 0s}}",
			"turns: {concurrency: 8, per_tenant: 2, strikes: 1, interaction_timeout: 1h, on_interaction_timeout: fail, grace: 1m}",
			"schedules:",
			"  daily: {cron: \"@daily\", agent: local/a, prompt: Report., session: reports, tenant: t, subject: s}",
		))},
	}, options(nil))
	if len(list) > 0 {
		t.Fatal(shows(list))
	}
	span := func(d time.Duration) *spec.Duration { return ptr(spec.Duration(d)) }
	if diff := cmp.Diff(settings.Retention{Sessions: *span(720 * time.Hour), Events: *span(24 * time.Hour), Keys: span(0)}, f.Store.Retention); diff != "" {
		t.Error(diff)
	}
	turns := settings.Turns{
		Concurrency: ptr(8), PerTenant: 2, Lease: span(10 * time.Second), Strikes: ptr(1), InteractionTimeout: *span(time.Hour),
		OnInteractionTimeout: "fail", Indeterminate: "ask", Grace: span(time.Minute),
	}
	if diff := cmp.Diff(turns, f.Turns); diff != "" {
		t.Error(diff)
	}
	schedules := []settings.Schedule{
		{ID: "daily", Cron: "@daily", Agent: "local/a", Prompt: "Report.", Session: "reports", Tenant: "t", Subject: "s"},
		{ID: "hourly", Cron: "@hourly", Agent: "a", Prompt: "Look."},
	}
	if diff := cmp.Diff(schedules, f.Schedules); diff != "" {
		t.Error(diff)
	}
}

func TestWrongSettings(t *testing.T) {
	t.Parallel()
	schedule := oneAgent + "schedules: {s: {agent: a, prompt: x, cron: %}}\n"
	for name, tt := range map[string]struct {
		text, want string
	}{
		"an invalid port":         {"version: 1\nserver: {listen: \"127.0.0.1:http\"}\n", `invalid-value 2:18-2:34 server.listen |"127.0.0.1:http"|`},
		"everybody":               {"version: 1\nserver: {listen: \":8080\", public_url: \"https://x\"}\n", `invalid-value 2:18-2:25 server.listen |":8080"| make a key with "runtime keys new"`},
		"nobody knows where":      {"version: 1\nserver: {listen: \":8080\", allow_unauthenticated: true}\n", `missing-field 2:1-2:7 server.public_url |server| write public_url: https://`},
		"an invalid address":      {"version: 1\nserver: {public_url: example.com}\n", `invalid-value 2:22-2:33 server.public_url |example.com| such as https://agents.example.com`},
		"a key of nothing":        {"version: 1\nserver: {keys: [{id: ci}]}\n", `missing-field 2:17-2:25 server.keys[0] |{id: ci}| make one with "runtime keys new"`},
		"a key not yet said":      {"version: 1\nserver: {keys: [{id: ci, key: \"${SERVER_KEY}\"}]}\n", `unset-variable 2:31-2:46 server.keys[0].key |"${SERVER_KEY}"| set it`},
		"a hash not yet said":     {"version: 1\nserver: {keys: [{id: ci, hash: \"${KEY_HASH}\"}]}\n", `unset-variable 2:32-2:45 server.keys[0].hash |"${KEY_HASH}"| set it`},
		"an invalid hash":         {"version: 1\nserver: {keys: [{id: ci, hash: sha1}]}\n", `invalid-value 2:32-2:36 server.keys[0].hash |sha1|`},
		"keys of one id":          {"version: 1\nserver: {keys: [{id: ci, hash: \"" + keyHash + "\"}, {id: ci, hash: \"" + otherHash + "\"}]}\n", `duplicate-id 2:113-2:115 server.keys[1].id |ci|`},
		"an invalid day":          {"version: 1\nserver: {keys: [{id: ci, hash: \"" + keyHash + "\", expires: 2026-02-30}]}\n", `invalid-value 2:116-2:126 server.keys[0].expires |2026-02-30|`},
		"a rate of a text":        {"version: 1\nserver: {rate: {per_second: many}}\n", `invalid-value 2:29-2:33 server.rate.per_second |many|`},
		"an agent of a key":       {"version: 1\nagents: {helper: {model_id: m, description: Helps.}}\nserver: {keys: [{id: k, hash: \"" + keyHash + "\", agents: [help*, helpr]}]}\n", `unmatched-agent 3:122-3:127 server.keys[0].agents[1] |helpr| did you mean "helper"?`},
		"agents of a key":         {"version: 1\nagents: {helper: {model_id: m, description: Helps.}}\nserver: {keys: [{id: k, hash: \"" + keyHash + "\", agents: [x*]}]}\n", `unmatched-agent 3:115-3:117 server.keys[0].agents[0] |x*|`},
		"a scope of a key":        {"version: 1\nagents: {helper: {model_id: m, description: Helps.}}\nserver: {keys: [{id: k, hash: \"" + keyHash + "\", scopes: [runs:raed]}]}\n", `unknown-scope 3:115-3:124 server.keys[0].scopes[0] |runs:raed| did you mean "runs:read"?`},
		"an agent for all":        {"version: 1\nagents: {helper: {model_id: m, description: Helps.}}\nserver: {a2a: {default_agent: helpr}}\n", `agent-not-found 3:31-3:36 server.a2a.default_agent |helpr| did you mean "helper"?`},
		"a certificate alone":     {"version: 1\nserver: {tls: {cert_file: x.pem}}\n", `missing-field 2:10-2:13 server.tls.key_file |tls| `},
		"a host as a URL":         {"version: 1\nserver: {a2a: {push: {allow_private: [\"http://x\"]}}}\n", `invalid-value 2:39-2:49 server.a2a.push.allow_private[0] |"http://x"|`},
		"an unknown field":        {"version: 1\nstore: {drivr: sqlite}\n", `unknown-field 2:9-2:14 store.drivr |drivr| did you mean "driver"?`},
		"an unknown record":       {"version: 1\nturn: {lease: 5s}\n", `unknown-field 2:1-2:5 turn |turn| did you mean "turns"?`},
		"an unknown driver":       {"version: 1\nstore: {driver: sqlit}\n", `invalid-value 2:17-2:22 store.driver |sqlit| did you mean "sqlite"?`},
		"a driver and its DSN":    {"version: 1\nstore: {driver: postgre, dsn: \"postgres://h/db\"}\n", `invalid-value 2:17-2:24 store.driver |postgre| did you mean "postgres"?`},
		"a driver misspelled":     {"version: 1\nstore: {drive: postgres, dsn: \"postgres://h/db\"}\n", `unknown-field 2:9-2:14 store.drive |drive| did you mean "driver"?`},
		"a driver not yet said":   {"version: 1\nstore: {driver: \"${DRIVER}\", dsn: \"postgres://h/db\"}\n", `unset-variable 2:17-2:28 store.driver |"${DRIVER}"| set it`},
		"no mapping":              {"version: 1\nturns: [1]\n", `invalid-value 2:8-2:11 turns |[1]|`},
		"no database":             {"version: 1\nstore: {driver: postgres}\n", `missing-field 2:1-2:6 store.dsn |store| write dsn: ${DATABASE_URL}, a URL such as postgres://user@host/database`},
		"the wrong driver":        {"version: 1\nstore:\n  dsn: postgres://h/db\n", `invalid-value 3:8-3:23 store.dsn |postgres://h/db| write driver: postgres and a URL such as postgres://user@host:5432/database`},
		"a file as a URL":         {"version: 1\nstore: {dsn: \"sqlite:///data/run.db\"}\n", `invalid-value 2:14-2:37 store.dsn |"sqlite:///data/run.db"| write dsn: /data/run.db`},
		"an empty path":           {"version: 1\nstore: {dsn: \"${EMPTY:-}\"}\n", `invalid-value 2:14-2:26 store.dsn |"${EMPTY:-}"| leave dsn out for runtime.db in data_dir`},
		"a database not yet said": {"version: 1\nstore: {driver: postgres, dsn: \"${DB}\"}\n", `unset-variable 2:32-2:39 store.dsn |"${DB}"| set it, or write ${DB:-default}`},
		"a time without a unit":   {"version: 1\nstore: {retention: {keys: 24}}\n", `invalid-value 2:27-2:29 store.retention.keys |24| write 24s for seconds, or 24ms for milliseconds`},
		"too short a lease":       {"version: 1\nturns: {lease: 10ms}\n", `invalid-value 2:16-2:20 turns.lease |10ms|`},
		"no turns":                {"version: 1\nturns: {concurrency: 0}\n", `invalid-value 2:22-2:23 turns.concurrency |0|`},
		"a bad policy":            {"version: 1\nturns: {indeterminate: retry}\n", `invalid-value 2:24-2:29 turns.indeterminate |retry|`},
		"a schedule of nothing":   {oneAgent + "schedules: {s: {}}\n", "missing-field 3:13-3:14 schedules.s.cron |s| Five fields"},
		"a bad id":                {oneAgent + "schedules: {a b: {agent: a, cron: \"@daily\", prompt: x}}\n", `invalid-id 3:13-3:16 schedules["a b"] |a b| start with a letter`},
		"an unknown agent":        {oneAgent + "agents2: {}\n", `unknown-field 3:1-3:8 agents2 |agents2| did you mean "agents"?`},
		"an agent of a schedule":  {"version: 1\nagents: {helper: {model_id: m}}\nschedules: {s: {agent: helpr, prompt: x, cron: \"@daily\"}}\n", `agent-not-found 3:24-3:29 schedules.s.agent |helpr| did you mean "helper"?`},
		"an agent of no source":   {oneAgent + "schedules: {s: {agent: cloud/a, prompt: x, cron: \"@daily\"}}\n", `agent-not-found 3:24-3:31 schedules.s.agent |cloud/a|`},
		"too few fields":          {strings.Replace(schedule, "%", `"0 9 * *"`, 1), `invalid-value 3:44-3:53 schedules.s.cron |"0 9 * *"| five fields, such as`},
		"an invalid hour":         {strings.Replace(schedule, "%", `"0 25 * * *"`, 1), `invalid-value 3:44-3:56 schedules.s.cron |"0 25 * * *"| five fields, such as`},
		"every negative time":     {strings.Replace(schedule, "%", `"@every -1h"`, 1), `invalid-value 3:44-3:56 schedules.s.cron |"@every -1h"| five fields, such as`},
		"every no time":           {strings.Replace(schedule, "%", `"@every 0s"`, 1), `invalid-value 3:44-3:55 schedules.s.cron |"@every 0s"| five fields, such as`},
		"31 February":             {strings.Replace(schedule, "%", `"0 0 31 2 *"`, 1), `no-effect 3:44-3:56 schedules.s.cron |"0 0 31 2 *"|`},
		"a zone in cron":          {strings.Replace(schedule, "%", `"TZ=0"`, 1), `invalid-value 3:44-3:50 schedules.s.cron |"TZ=0"| write time_zone`},
		"an unknown zone":         {strings.Replace(schedule, "%", `"@daily", time_zone: Europe/Berln`, 1), `invalid-value 3:65-3:77 schedules.s.time_zone |Europe/Berln| such as Europe/Berlin or UTC`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, list := parseDocument(t, tt.text)
			if len(list) == 0 {
				t.Fatal("nothing is wrong")
			}
			if got := spans(tt.text, list)[0] + " " + list[0].Hint; !strings.HasPrefix(got, tt.want) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			most := 1
			if name == "a schedule of nothing" {
				most = 3
			}
			if len(list) > most {
				t.Errorf("one cause gives %d diagnostics:\n%s", len(list), shows(list))
			}
		})
	}
}

// keyHash is the hash of a key.
var keyHash = "sha256:" + strings.Repeat("0a", 32)

var otherHash = "sha256:" + strings.Repeat("0b", 32)

func TestAServerIsMergedFieldByField(t *testing.T) {
	t.Parallel()
	f, list := config.Parse([]config.Source{
		{Name: "base/a", Data: []byte(oneAgent + lines(
			"server:",
			"  public_url: https://agents.example.com",
			"  tls: {cert_file: cert.pem, key_file: ${DIR}/key.pem}",
			"  keys: [{id: ci, hash: \""+keyHash+"\", agents: [a*], scopes: [], expires: 2026-12-31}]",
			"  limits: {max_body_bytes: 1024, read_timeout: 5s}",
			"  rate: {per_second: 0.5}",
			"  a2a: {default_agent: a, v0_3: true}",
		))},
		{Name: "prod/b", Data: []byte("version: 1\n" + lines(
			"server:",
			"  listen: 0.0.0.0:443",
			"  limits: {read_timeout: 10s}",
			"  a2a: {enabled: false, push: {enabled: false, allow_private: [10.0.0.0/8]}}",
		))},
	}, options(map[string]string{"DIR": "secrets"}))
	for _, d := range list { // the second file disables the first file's a2a
		if d.Code != diag.NoDescription && (d.Code != diag.NoEffect || !strings.HasPrefix(d.Path, "server.a2a.")) {
			t.Error(shows(list))
		}
	}
	s := f.Server
	if key := s.Keys[0]; key.ID != "ci" || key.Agents[0] != "a*" || key.Scopes == nil || key.Expires.End().Format(time.DateOnly) != "2027-01-01" {
		t.Errorf("%+v", key)
	}
	if s.Address() != "0.0.0.0:443" || s.TLS.CertFile != filepath.Join("base", "cert.pem") || s.TLS.KeyFile != filepath.Join("base", "secrets", "key.pem") {
		t.Errorf("%s %+v", s.Address(), s.TLS)
	}
	if s.Limits.BodyLimit() != 1024 || s.Limits.BodyTime() != 10*time.Second || s.Rate.PerSecond != 0.5 {
		t.Errorf("%+v %+v", s.Limits, s.Rate)
	}
	if s.A2A.On() || !s.A2A.V03 || s.A2A.DefaultAgent != "a" || s.A2A.Push.On() {
		t.Errorf("%+v", s.A2A)
	}
}

func TestTheKeysOfAServerAreNeverShown(t *testing.T) {
	t.Parallel()
	text := "version: 1\nserver: {keys: [{id: ci, key: s3cret-word-s3cret}], encryption_key: s3cret-key-of-32-bytes}\n"
	f, list := config.Parse([]config.Source{{Name: "c", Data: []byte(text)}}, options(nil))
	if shown := shows(list) + string(f.Source("c")) + f.Redact("the key s3cret-word-s3cret is wrong"); strings.Contains(shown, "s3cret") {
		t.Error(shown)
	}
}

func TestAScheduleMayNameAnAgentOfARemoteSource(t *testing.T) {
	t.Parallel()
	_, list := parseDocument(t, "version: 1\nremote_agents: [{name: cloud, base_url: \"http://x\"}]\nschedules: {s: {agent: cloud/a, prompt: x, cron: \"@daily\"}}\n")
	if len(list) > 0 {
		t.Error(shows(list))
	}
}

func TestHowADatabaseIsReachedIsNeverShown(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]string{
		"a URL":              "postgres://agent:s3cret-word@h/db",
		"one with escapes":   "postgres://agent:s3cret%2Dword@h/db",
		"keys":               "host=h password=s3cret-word dbname=db",
		"keys with quotes":   "host=h password = 's3cret-word' dbname=db",
		"a variable":         "${DB}",
		"part of one":        "postgres://agent:${PW}@h/db",
		"a default":          "${UNSET:-postgres://agent:s3cret-word@h/db}",
		"the wrong driver":   "postgresql://agent:s3cret-word@h/db",
		"keys of SQLite":     "host=h password=s3cret-word dbname=db",
		"no database at all": "s3cret-word",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver := "postgres"
			if name == "the wrong driver" || name == "keys of SQLite" {
				driver = "sqlite"
			}
			text := "version: 1\nstore:\n  driver: " + driver + "\n  dsn: \"" + dsn + "\"\n"
			f, list := config.Parse([]config.Source{{Name: "c", Data: []byte(text)}}, options(map[string]string{"DB": "postgres://agent:s3cret-word@h/db", "PW": "s3cret-word"}))
			list = f.Complete(list, diag.List{diag.New(diag.EnvBuild, "agents.a", "connect to %s: the password s3cret-word is wrong", f.Store.DSN)})
			shown := shows(list) + string(f.Source("c")) + f.Redact("connect to "+f.Store.DSN+": the password s3cret-word is wrong")
			if strings.Contains(shown, "s3cret") {
				t.Error(shown)
			}
		})
	}
}

func TestThePathOfAStoreIsNoSecret(t *testing.T) {
	t.Parallel()
	f, _ := parseDocument(t, "version: 1\nstore: {dsn: some/runtime.db}\n")
	if got := f.Redact("some/runtime.db is in use"); got != "some/runtime.db is in use" {
		t.Error(got)
	}
}
