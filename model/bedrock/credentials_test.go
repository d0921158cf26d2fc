package bedrock

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// keys are the keys accepted by the test vendor.
var keys = aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "hush/hush+hush", SessionToken: "session/token=="}

// checkSignature signs the received request again, like the vendor.
func checkSignature(t *testing.T, r *http.Request, keys aws.Credentials) {
	t.Helper()
	got := r.Header.Get("Authorization")
	body, _ := io.ReadAll(r.Body)
	_, signed, _ := strings.Cut(got, "SignedHeaders=")
	signed, _, _ = strings.Cut(signed, ",")
	again, err := http.NewRequestWithContext(t.Context(), r.Method, "http://"+r.Host+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(signed, ";") {
		if value := r.Header.Get(name); value != "" && name != "content-length" {
			again.Header.Set(name, value)
		}
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		t.Error(err)
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(t.Context(), keys, again, hex.EncodeToString(sum[:]), "bedrock", "eu-central-1", at); err != nil {
		t.Fatal(err)
	}
	if want := again.Header.Get("Authorization"); got != want || !strings.Contains(signed, "host;") || !strings.Contains(got, "/eu-central-1/bedrock/aws4_request") {
		t.Errorf("the signature is\n%s\nwant\n%s", got, want)
	}
	if got := r.Header.Get("X-Amz-Security-Token"); got != keys.SessionToken {
		t.Errorf("the session token is %q", got)
	}
}

func TestRequestsAreSigned(t *testing.T) {
	for _, id := range []string{testModel, "arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/abc 1"} {
		baseURL, transport := vendortest.Listen(t, func(w http.ResponseWriter, r *http.Request) {
			checkSignature(t, r, keys)
			vendortest.Answer(vendor.Recorded(t, "text"))(w, r)
		})
		e, err := newExecutor(model.Settings{ID: vendortest.Provider}, &Config{
			Region: "eu-central-1", BaseURL: baseURL, Headers: map[string]string{"X-Team": "a  b"},
			Credentials: &Credentials{AccessKeyID: keys.AccessKeyID, SecretAccessKey: keys.SecretAccessKey, SessionToken: keys.SessionToken},
		}, transports{transport, transport})
		if err != nil {
			t.Fatal(err)
		}
		if _, failure := vendortest.Ask(t, e, vendortest.FullConversation(id)); failure != nil {
			t.Error(failure)
		}
	}
}

func TestASessionTokenIsNotShown(t *testing.T) {
	e := offline(t, Config{Credentials: &Credentials{AccessKeyID: keys.AccessKeyID, SecretAccessKey: keys.SecretAccessKey, SessionToken: keys.SessionToken}}, func(r *http.Request) (*http.Response, error) {
		res := vendortest.StreamResponse(r, strings.NewReader(`{"message":"The Canonical String should have been x-amz-security-token:session/token=="}`))
		res.StatusCode = http.StatusForbidden
		res.Header.Set("X-Amzn-Errortype", "InvalidSignatureException")
		return res, nil
	})
	_, failure := vendortest.Ask(t, e, vendortest.Hello(testModel))
	if failure == nil || failure.Class != model.Unauthorized || strings.Contains(failure.Message, "session/token") || !strings.Contains(failure.Message, "x-amz-security-token:***") {
		t.Errorf("the error is %v", failure)
	}
}

// cloud answers key requests and model requests signed with the keys.
type cloud struct {
	t      *testing.T
	answer func(r *http.Request) (status int, body string)
	asked  atomic.Int32
}

func (c *cloud) RoundTrip(r *http.Request) (*http.Response, error) {
	res := vendortest.StreamResponse(r, strings.NewReader(""))
	if strings.HasPrefix(r.URL.Host, "bedrock-runtime.") {
		if got := r.Header.Get("Authorization"); !strings.Contains(got, "Credential=AKIDROLE/") || r.Header.Get("X-Amz-Security-Token") != "role-token" {
			c.t.Errorf("the request carries %q", got)
		}
		res.Body = io.NopCloser(bytes.NewReader(vendor.Recorded(c.t, "text")))
		return res, nil
	}
	c.asked.Add(1)
	var body string
	res.StatusCode, body = c.answer(r)
	res.Body = io.NopCloser(strings.NewReader(body))
	return res, nil
}

func roleKeys() string {
	return fmt.Sprintf(`{"Code":"Success","AccessKeyId":"AKIDROLE","SecretAccessKey":"hush","Token":"role-token","Expiration":%q}`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
}

func TestKeysOfRoles(t *testing.T) {
	dir := t.TempDir()
	token, profile := filepath.Join(dir, "token"), filepath.Join(dir, "credentials")
	for file, content := range map[string]string{
		token:   "eyJ.web\n",
		profile: "# keys\n[other]\naws_access_key_id = no\n[work]\naws_access_key_id = AKIDROLE\naws_secret_access_key=hush\nAWS_SESSION_TOKEN = role-token\n[last]\naws_access_key_id = no\n",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		from        Credentials
		environment map[string]string
		requests    int32
		answer      func(r *http.Request) (int, string)
	}{
		"environment": {Credentials{From: fromEnvironment}, map[string]string{"AWS_ACCESS_KEY_ID": "AKIDROLE", "AWS_SECRET_ACCESS_KEY": "hush", "AWS_SESSION_TOKEN": "role-token"}, 0, nil},
		"profile":     {Credentials{From: fromProfile, Profile: "work", CredentialsFile: profile}, nil, 0, nil},
		"task": {Credentials{From: fromContainer}, map[string]string{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/credentials/1"}, 1, func(r *http.Request) (int, string) {
			if r.URL.String() != "http://169.254.170.2/v2/credentials/1" {
				t.Errorf("the task asks %s", r.URL)
			}
			return 200, roleKeys()
		}},
		"pod": {Credentials{From: fromContainer}, map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.170.23/v1/credentials", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": token}, 1, func(r *http.Request) (int, string) {
			if r.URL.String() != "http://169.254.170.23/v1/credentials" || r.Header.Get("Authorization") != "eyJ.web" {
				t.Errorf("the pod asks %s with %q", r.URL, r.Header.Get("Authorization"))
			}
			return 200, roleKeys()
		}},
		"instance": {Credentials{From: fromInstance}, nil, 3, func(r *http.Request) (int, string) {
			switch {
			case r.Method == http.MethodPut && r.URL.String() == "http://169.254.169.254/latest/api/token" && r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds") != "":
				return 200, "metadata-token"
			case r.Method != http.MethodGet || r.Header.Get("X-Aws-Ec2-Metadata-Token") != "metadata-token":
				return 401, ""
			case r.URL.Path == rolePath:
				return 200, "my-role\n"
			case r.URL.Path == rolePath+"my-role":
				return 200, roleKeys()
			}
			return 404, ""
		}},
		"web identity": {Credentials{From: fromWebIdentity, RoleARN: "arn:aws:iam::1:role/r", TokenFile: token}, nil, 1, func(r *http.Request) (int, string) {
			_ = r.ParseForm()
			if r.URL.String() != "https://sts.us-east-1.amazonaws.com/" || r.PostForm.Get("WebIdentityToken") != "eyJ.web" || r.PostForm.Get("RoleArn") != "arn:aws:iam::1:role/r" || r.PostForm.Get("Action") != "AssumeRoleWithWebIdentity" {
				t.Errorf("the role is taken on at %s with %v", r.URL, r.PostForm)
			}
			return 200, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>AKIDROLE</AccessKeyId><SecretAccessKey>hush</SecretAccessKey><SessionToken>role-token</SessionToken><Expiration>2090-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for name, value := range tt.environment {
				t.Setenv(name, value)
			}
			c := &cloud{t: t, answer: tt.answer}
			e, err := newExecutor(model.Settings{ID: vendortest.Provider}, &Config{Region: "us-east-1", Credentials: &tt.from}, transports{c, c})
			if err != nil {
				t.Fatal(err)
			}
			var group sync.WaitGroup
			for range 10 {
				group.Go(func() {
					if _, failure := vendortest.Ask(t, e, vendortest.Hello(testModel)); failure != nil {
						t.Error(failure)
					}
				})
			}
			group.Wait()
			if c.asked.Load() != tt.requests {
				t.Errorf("%d requests for keys, want %d", c.asked.Load(), tt.requests)
			}
		})
	}
}

func TestKeysThatCannotBeHad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("eyJ.web"), 0o600); err != nil {
		t.Fatal(err)
	}
	web := Credentials{From: fromWebIdentity, RoleARN: "r", TokenFile: file}
	for _, tt := range []struct {
		from   Credentials
		status int
		body   string
		class  model.ErrorClass
		said   string
	}{
		{web, 400, `<ErrorResponse><Error><Type>Sender</Type><Code>InvalidIdentityToken</Code><Message>hush</Message></Error></ErrorResponse>`, model.Unauthorized, "400: InvalidIdentityToken"},
		{web, 200, `<html>`, model.Unauthorized, "no keys"},
		{web, 503, ``, model.Overloaded, "503"},
		{Credentials{From: fromWebIdentity, RoleARN: "r", TokenFile: "/does/not/exist"}, 200, ``, model.Unauthorized, "/does/not/exist"},
		{Credentials{From: fromInstance}, 404, `hush`, model.Unauthorized, "404"},
		{Credentials{From: fromInstance}, 200, `hush`, model.Unauthorized, "no keys"},
		{Credentials{From: fromContainer}, 200, ``, model.Unauthorized, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"},
		{Credentials{From: fromEnvironment}, 200, ``, model.Unauthorized, "environment has no access key"},
		{Credentials{From: fromProfile, CredentialsFile: file}, 200, ``, model.Unauthorized, `profile "default"`},
		{Credentials{From: fromProfile, CredentialsFile: "/does/not/exist"}, 200, ``, model.Unauthorized, "/does/not/exist"},
	} {
		c := &cloud{t: t, answer: func(*http.Request) (int, string) { return tt.status, tt.body }}
		e, err := newExecutor(model.Settings{ID: vendortest.Provider}, &Config{Region: "us-east-1", Credentials: &tt.from}, transports{c, c})
		if err != nil {
			t.Fatal(err)
		}
		_, failure := vendortest.Ask(t, e, vendortest.Hello(testModel))
		if failure == nil || failure.Class != tt.class || !strings.Contains(failure.Message, tt.said) || strings.Contains(failure.Message, "hush") {
			t.Errorf("%+v, %d %s gives %v, want %s: %s", tt.from, tt.status, tt.body, failure, tt.class, tt.said)
		}
	}
}

func TestContainersGetKeysFromTheirMachineAlone(t *testing.T) {
	for full, allowed := range map[string]bool{
		"http://127.0.0.1:9/x": true, "http://localhost/x": true, "http://LocalHost/x": true, "http://169.254.170.23/v1": true, "http://[fd00:ec2::23]/v1": true, "https://keys.example/x": true,
		"http://keys.example/x": false, "http://169.254.169.254/x": false, "file:///etc/passwd": false, "http://%zz": false, "": false,
	} {
		if _, err := containerAddress("", full); (err == nil) != allowed {
			t.Errorf("%q: %v", full, err)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		config     Config
		path, said string
	}{
		{Config{}, "region", "required"},
		{Config{Region: "US East"}, "region", `"US East"`},
		{Config{Region: "us-east-1", APIKey: "secret", Credentials: &Credentials{From: fromInstance}}, "credentials", "contradicts"},
		{Config{Region: "us-east-1", Credentials: &Credentials{From: "sso"}}, "credentials.from", `"sso"`},
		{Config{Region: "us-east-1", Credentials: &Credentials{AccessKeyID: "a"}}, "credentials.secret_access_key", "required"},
		{Config{Region: "us-east-1", Credentials: &Credentials{From: fromInstance, Profile: "a"}}, "credentials.profile", "no effect"},
		{Config{Region: "us-east-1", Credentials: &Credentials{From: fromWebIdentity, RoleARN: "a"}}, "credentials.token_file", "required"},
		{Config{Region: "us-east-1", Credentials: &Credentials{AccessKeyID: "a", SecretAccessKey: "***"}}, "credentials.secret_access_key", "placeholder"},
		{Config{Region: "us-east-1", Credentials: &Credentials{From: fromInstance}, Headers: map[string]string{"authorization": "secret"}}, "headers.authorization", "contradicts credentials"},
		{Config{Region: "us-east-1", Credentials: &Credentials{From: fromContainer}}, "", ""},
	} {
		vendor.CheckConfig(t, &tt.config, tt.path, tt.said)
	}
	shown := vendortest.JSON(t, Config{Credentials: &Credentials{AccessKeyID: "topsecret", SecretAccessKey: "topsecret", SessionToken: "topsecret"}})
	if strings.Contains(shown, "topsecret") || strings.Count(shown, `"***"`) != 3 {
		t.Errorf("the configuration is shown as %s", shown)
	}
	for region, host := range map[string]string{"cn-north-1": "https://bedrock-runtime.cn-north-1.amazonaws.com.cn", "us-gov-west-1": "https://bedrock-runtime.us-gov-west-1.amazonaws.com"} {
		if got := (&Config{Region: region}).apiAccess().URL(); got != host {
			t.Errorf("%s is at %s", region, got)
		}
	}
}

// TestARequestForKeysCanBeLeft lets a metadata server hang.
func TestARequestForKeysCanBeLeft(t *testing.T) {
	hang := vendortest.RoundTrip(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	source := newKeySource(&Config{Region: "us-east-1", Credentials: &Credentials{From: fromInstance}}, transports{hang, hang})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := source.fetch(ctx); model.AsError(err).Class != model.Timeout {
		t.Errorf("the error is %v", err)
	}
}

func TestProvidersWithoutCredentialAreWarnedAbout(t *testing.T) {
	vendortest.CheckCredentials(t, &Config{Region: "eu-west-1"}, []string{"api_key", "credentials"},
		&Config{Region: "eu-west-1", APIKey: "k"},
		&Config{Region: "eu-west-1", Credentials: &Credentials{From: fromEnvironment}},
		&Config{Region: "eu-west-1", Headers: map[string]string{"X-Gateway-Key": "k"}})
}
