package vendorhttp

import "testing"

func TestErrorsInUnknownFormsAreFound(t *testing.T) {
	for data, want := range map[string]int{
		`{"error parsing tool call":"raw='{'"}`: 200, // ollama#11781
		`{"Error":"out of memory"}`:             200,
		`{"errors":["a"]}`:                      200,
		`{"exception":"KeyError"}`:              200,
		`{"failure_reason":"x"}`:                200,
		`{"code":500,"msg":"x"}`:                500,
		`{"status":"503","title":"x"}`:          503,
		`{"statusCode":429}`:                    429,
		`{"success":false,"result":null}`:       200,
		`{"ok":false}`:                          200,
		`{"error":null}`:                        0,
		`{"errors":[],"error_code":0}`:          0,
		`{"errorCode":"0"}`:                     0,
		`{"code":200}`:                          0,
		`{"code":"queued"}`:                     0,
		`{"success":true}`:                      0,
		`{"message":"queued"}`:                  0,
		`{}`:                                    0,
		`[{"error":"x"}]`:                       0,
		`{"status":600}`:                        0,
	} {
		if got := errorStatus(&ServerEvent{Data: []byte(data)}); got != want {
			t.Errorf("%s: %d", data, got)
		}
	}
	if errorStatus(&ServerEvent{Name: []byte("server_error"), Data: []byte(`{}`)}) != 200 {
		t.Error("an event named server_error does not count as an error")
	}
}
