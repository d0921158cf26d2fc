package layering

import "slices"

// This file is the only list of permitted imports between packages. It covers the program's
// packages: tests may import any package.

// layers lists the layers from top to bottom: a package imports only lower layers. An unlisted
// package belongs to its nearest listed ancestor in the tree and may import the packages between
// itself and that ancestor and their internal directories; siblings lists all other exceptions.
var layers = []string{
	"internal/testkit",
	"internal/bench",
	"docs",
	"examples",
	"cmd",
	"cli",
	"app/evals",
	"app",
	"server",
	"service/fleet",
	"agents",
	"builder",
	"internal/schedule",
	"service",
	"internal/sessionstart",
	"internal/toolgrant",
	"store",
	"runtime",
	"resolve",
	"registry",
	"config",
	"backend",
	"plugins",
	"internal/agenttool",
	"tools",
	"runtime/telemetry",
	"internal/a2awire",
	"model",
	"internal/display",
	"event",
	"event/interaction",
	"config/settings",
	"spec/workflow",
	"model/catalog",
	"internal/access",
	"spec",
	"internal/yamltree",
	"internal/check",
	"diag",
	"agents/wire",
	"internal",
}

// siblings are the intended imports within a layer.
var siblings = map[string][]string{
	"model/azure":                  {"model/openai"},
	"model/vertex":                 {"model/anthropic", "model/google"},
	"internal/testkit/a2asdk":      {"internal/testkit/needs", "internal/testkit/pyenv"},
	"internal/testkit/grpcpy":      {"internal/testkit/pyenv"},
	"internal/testkit/surfacetest": {"internal/testkit/openapitest"},
	"internal/testkit/genkitjs":    {"internal/testkit/nodeenv"},
	"internal/testkit/nodeenv":     {"internal/testkit/needs"},
	"internal/testkit/gittest":     {"internal/testkit/needs"},
	"internal/testkit/pgtest":      {"internal/testkit/needs"},
	"internal/testkit/browser":     {"internal/testkit/needs"},
	"internal/testkit/javaenv":     {"internal/testkit/needs"},
	"internal/testkit/pyenv":       {"internal/testkit/needs"},
	"backend/provider":             {"backend/local"},
	"store/driver":                 {"store/dispatch"},
	"store/memory":                 {"store/dispatch/local", "store/driver", "store/sqlite"},
	"store/postgres":               {"store/dispatch", "store/driver", "store/postgres/river"},
	"store/sqlite":                 {"store/dispatch/local", "store/driver"},
	"store/postgres/river":         {"store/dispatch"},
	"plugins/toolsearch":           {"plugins/core"},
	"plugins/window":               {"plugins/core"},
	"tools/mcp":                    {"tools/toolset"},
	"server":                       {"server/internal/openapi"},
	"server/admin":                 {"server/component", "server/native"},
	"server/workflows":             {"server/component", "server/native"},
	"server/agentruns":             {"server/component", "server/internal/openapi"},
	"server/agents":                {"server/component", "server/internal/openapi"},
	"server/agui":                  {"server/component"},
	"server/aisdk":                 {"server/component"},
	"server/console":               {"server/component"},
	"server/mcp":                   {"server/component"},
	"server/native":                {"server/component", "server/internal/openapi"},
	"server/openai":                {"server/component"},
	"server/provider":              {"server/component"},
	"server/sessions":              {"server/component", "server/internal/openapi"},
	"server/a2a":                   {"server/component", "server/internal/openapi"},
	"service":                      {"service/webhook", "service/workspace"},
	"internal/landing":             {"internal/hostlist"},
	"internal/netguard":            {"internal/hostlist"},
	"internal/pattern":             {"internal/panics"},
	"internal/process":             {"internal/clip"},
	"internal/gitrepo":             {"internal/pattern"},
	"internal/rawjson":             {"internal/clip"},
	"internal/redact":              {"internal/rawjson"},
	"internal/schema":              {"internal/clip", "internal/nearest", "internal/panics", "internal/pattern", "internal/rawjson"},
}

// rule separates packages from others. Each entry covers the package and all packages below it in
// the tree.
type rule struct {
	// packages are the packages that the rule applies to; empty means all except those in except.
	packages, except []string
	// own and foreign are the packages that they must not import: packages of this module, except
	// in their own tree, and third-party or standard library packages.
	own, foreign []string
	// indirectly also forbids indirect imports.
	indirectly bool
	// why is the reason, shown to violators of the rule.
	why string
}

var rules = []rule{
	{
		packages: []string{"spec", "diag", "event", "registry", "resolve"}, foreign: []string{"net/http", "os/exec", "database/sql"}, indirectly: true,
		why: "what agents are, and how they are resolved, is computed without reaching out",
	},
	{
		packages: []string{"resolve"}, foreign: []string{"net", "os"},
		why: "resolving reaches no network and reads no files",
	},
	{
		except: []string{"app/shipped", "app/evals", "examples", "internal/testkit/surfacetest", "model/azure", "model/vertex", "store/memory", "store/postgres", "store/sqlite"}, own: implementations,
		why: "an implementation is named where it becomes a component, by one of a cloud that serves the vendor's models, by the store of a queue, by evals, in examples and in tests alone",
	},
	{
		packages: []string{"app/evals"}, own: without(implementations, evaluated),
		why: "evals replay recordings, run scripts and match calls with the grammar of permission rules, and need no other component",
	},
	{
		except: []string{"cmd", "examples", "internal/bench"}, own: []string{"app/shipped"},
		why: "a package that names app/shipped links everything, so programs alone do",
	},
	{
		packages: []string{"cli", "server/native"}, own: without(implementations, evaluated), foreign: drivers, indirectly: true,
		why: "a program that leaves a component out does not contain it",
	},
	{
		packages: []string{"store/sqlite", "store/memory"}, own: []string{"store/postgres"}, foreign: postgresDrivers, indirectly: true,
		why: "a program without PostgreSQL contains no driver of it",
	},
	{
		packages: []string{"server/agentruns"}, own: []string{"backend/a2a", "server/a2a", "tools/mcp"}, foreign: []string{"github.com/a2aproject"}, indirectly: true,
		why: "runs over HTTP need neither A2A nor MCP: app/shipped adds them",
	},
	{
		packages: []string{"server"}, own: []string{"store"},
		why: "a surface asks the service; the records and the queue are the service's",
	},
	{
		except: []string{"agents", "internal/testkit", "internal/yamltree", "model/scripted"}, foreign: []string{"go.yaml.in/yaml"},
		why: "YAML is read in internal/yamltree, in model/scripted for its scripts, in agents for the front matter of prompt files, and in kits of tests",
	},
	{
		except: []string{"cli"}, foreign: []string{"go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/exporters"},
		why: "where telemetry goes is chosen in cli; everything else is handed a telemetry.Telemetry",
	},
}

// implementations are the components that the binary can be built with or without. Components of
// every runtime, such as the local backend, are excluded, and so are server/native, server/admin
// and server/workflows: the command is also a client of them.
var implementations = []string{
	"model/anthropic", "model/azure", "model/bedrock", "model/google", "model/openai", "model/recorded", "model/scripted", "model/vertex",
	"tools/ask", "tools/command", "tools/http", "tools/mcp", "tools/workspace",
	"plugins/log", "plugins/permission", "plugins/toolsearch",
	"backend/a2a", "backend/provider",
	"store/memory", "store/postgres", "store/sqlite",
	"store/dispatch/local", "store/postgres/river",
	"server/a2a", "server/agentruns", "server/agents", "server/agui", "server/aisdk", "server/mcp", "server/openai", "server/provider", "server/sessions",
}

// evaluated are the components of package evals. The command contains them.
var evaluated = []string{"model/recorded", "model/scripted", "plugins/permission"}

// without returns a list minus some elements.
func without(list, gone []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(gone, s) })
}

// drivers are third-party modules that only implementations import, and postgresDrivers the modules
// that connect to PostgreSQL.
var (
	drivers         = append([]string{"modernc.org/sqlite", "github.com/a2aproject", "github.com/modelcontextprotocol"}, postgresDrivers...)
	postgresDrivers = []string{"github.com/jackc", "github.com/riverqueue"}
)

// testModules are modules that only tests import: the vendors' SDKs, which would double the size of
// the program, and the dependencies of Google's SDK (docs/adr/0014-own-types-for-vendors.md).
var testModules = []string{
	"github.com/openai/openai-go", "github.com/anthropics/anthropic-sdk-go", "google.golang.org/genai", "cloud.google.com/go",
	"github.com/aws/aws-sdk-go-v2/service",
}
