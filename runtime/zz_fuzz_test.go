package runtime_test
import ("testing";"strings";"github.com/agentruntime/agentruntime/runtime")
func FuzzZZ(f *testing.F){ for _,s:=range []string{"0 9 * * 1-5","@every 10m","@daily","*/5 1-2,3 * JAN ?"," ","@every -1ns","*/99999999999 * * * *"}{f.Add(s)}
 f.Fuzz(func(t *testing.T,s string){ if strings.Contains(s,"TZ="){return}; runtime.CheckSchedule(s,"") }) }
