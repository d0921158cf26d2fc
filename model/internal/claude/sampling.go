package claude

import (
	"fmt"

	"github.com/agentruntime/agentruntime/model"
)

// LeastTopP is the smallest top_p that Claude accepts while it thinks, which allows no
// temperature at all.
const LeastTopP = 0.95

// maxTemperature is the highest temperature of the Messages API, and of the Converse API for
// all models.
const maxTemperature = 1

// CheckSampling reports the sampling parameters that Claude's APIs reject. A model that thinks is
// Claude with a reasoning effort.
func CheckSampling(p *model.Params, isClaude bool) (faults []model.ParamFault) {
	thinks := isClaude && p.Thinks()
	switch {
	case p.Temperature == nil:
	case *p.Temperature > maxTemperature:
		faults = append(faults, model.ParamFault{Name: "temperature", Reason: fmt.Sprintf("is %v; at most %d is allowed", *p.Temperature, maxTemperature)})
	case thinks:
		faults = append(faults, model.ParamFault{Name: "temperature", Reason: "is left out while the model thinks; see reasoning_effort", Omitted: true})
	}
	if p.TopP != nil && thinks && *p.TopP < LeastTopP {
		faults = append(faults, model.ParamFault{Name: "top_p", Reason: fmt.Sprintf("is left out below %v while the model thinks; see reasoning_effort", LeastTopP), Omitted: true})
	}
	return faults
}
