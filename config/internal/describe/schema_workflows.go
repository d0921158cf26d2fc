package describe

import (
	"reflect"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/spec/workflow"
)

// withWorkflows adds workflows, in either spelling, to the schema of their registry.
func (w *schemaWriter) withWorkflows(schema object) object {
	entry := w.recordRef(reflect.TypeFor[workflow.Workflow]())
	trigger, schedule := w.recordRef(reflect.TypeFor[workflow.GestaltTrigger]()), w.recordRef(reflect.TypeFor[workflow.GestaltSchedule]())
	has := func(field string) object { return object{{"required", []string{field}}} }
	either := object{
		{"if", has(keys.Match)}, {"then", trigger},
		{"else", object{{"if", has(keys.Cron)}, {"then", schedule}, {"else", entry}}},
	}
	group := func(doc string, of object) object {
		isWorkflow := object{{"anyOf", []any{has("steps"), has("target")}}}
		return object{
			{"description", doc}, {"type", "object"},
			{"if", isWorkflow}, {"then", either}, {"else", object{{"additionalProperties", of}}},
		}
	}
	return schema.with("additionalProperties", either).with("properties", object{
		{keys.EventTriggers, group("Event triggers in the spelling of Gestalt, by id.", trigger)},
		{keys.Schedules, group("Schedules in the spelling of Gestalt, by id.", schedule)},
	})
}
