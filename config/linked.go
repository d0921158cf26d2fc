package config

import (
	"reflect"
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/decode"
	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
)

// surfaces are the protocols with a section below server.
var surfaces = []string{settings.SurfaceA2A, settings.SurfaceAgentRuns, settings.SurfaceNative, settings.SurfaceOpenAI, settings.SurfaceAGUI, settings.SurfaceAISDK, settings.SurfaceMCP, settings.SurfaceConsole}

// recordOf describes a struct type without the parts that this program lacks.
func (k *Kinds) recordOf(t reflect.Type) *record.Type {
	r := record.Of(t)
	switch {
	case t == reflect.TypeFor[settings.Store]() && k.Stores != nil:
		return r.WithChoices("driver", k.Stores)
	case t == reflect.TypeFor[settings.Server]() && k.Surfaces != nil:
		return r.WithoutFields(surfaces, k.Surfaces)
	default:
		return r
	}
}

// checkDriver reports a store with a missing or unknown driver, if the program was built without
// the intended driver.
func (k *Kinds) checkDriver(s *settings.Store) diag.List {
	if k.Stores == nil || slices.Contains(k.Stores, s.Kind()) {
		return nil
	}
	return diag.List{diag.New(diag.InvalidValue, "driver", "driver is %q, but this program was built without it", clip.Text(s.Kind())).WithHint("%s", decode.ListLinked(k.Stores))}
}

// switchOffSurfaces disables the protocols that the program was built without: they are enabled by
// default.
func (k *Kinds) switchOffSurfaces(s *settings.Server) {
	if k.Surfaces == nil {
		return
	}
	for name, enabled := range map[string]**bool{
		settings.SurfaceA2A: &s.A2A.Enabled, settings.SurfaceAgentRuns: &s.AgentRuns.Enabled, settings.SurfaceNative: &s.Native.Enabled,
		settings.SurfaceOpenAI: &s.OpenAI, settings.SurfaceAGUI: &s.AGUI, settings.SurfaceAISDK: &s.AISDK, settings.SurfaceMCP: &s.MCP, settings.SurfaceConsole: &s.Console,
	} {
		if !slices.Contains(k.Surfaces, name) {
			*enabled = new(bool)
		}
	}
}
