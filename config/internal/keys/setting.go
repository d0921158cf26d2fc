package keys

import (
	"reflect"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/spec"
)

// setting is a top-level mapping with a single record.
type setting struct {
	Name, Doc string
	Type      reflect.Type
}

// Settings are the process-wide records, in the order of the documentation.
var Settings = []setting{
	{"store", "Where sessions, turns and their events are kept.", reflect.TypeFor[settings.Store]()},
	{"revisions", "Where the agents come from, and how long earlier ones are kept.", reflect.TypeFor[settings.Revisions]()},
	{Tenants, "The rights of tenants' overlays, how many tenants are kept ready, and tenants' variables. Without it tenants have neither overlays nor variables.", reflect.TypeFor[spec.Tenants]()},
	{"turns", "How a process works on turns that are kept in the store.", reflect.TypeFor[settings.Turns]()},
	{"workspaces", "The directories that sessions work in: checkouts of git repositories.", reflect.TypeFor[settings.Workspaces]()},
	{"server", "How a process answers HTTP requests.", reflect.TypeFor[settings.Server]()},
}

// SettingNamed returns the record with a name, or nil.
func SettingNamed(name string) *setting {
	for i := range Settings {
		if Settings[i].Name == name {
			return &Settings[i]
		}
	}
	return nil
}
